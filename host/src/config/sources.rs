//! Where each setting comes from, for whoever wonders why a limit is what it is.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::Settings;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Default,
    File,
    /// The variable.
    Environment(&'static str),
    /// The option of the command line.
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Default => "default",
            Source::File => "config.json",
            Source::Environment(name) | Source::Flag(name) => name,
        })
    }
}

/// The settings that are not defaults, by their keys: `security.max_sessions`.
#[derive(Debug, Clone, Default)]
pub struct Sources(BTreeMap<String, Source>);

impl Sources {
    /// What a file sets, to the default value or another.
    pub fn of_file(file: &Value) -> Sources {
        let mut keys = Vec::new();
        flatten(file, "", &mut keys);
        Sources(keys.into_iter().map(|(key, _)| (key, Source::File)).collect())
    }

    pub fn set(&mut self, key: &str, source: Source) {
        self.0.insert(key.to_owned(), source);
    }

    pub fn of(&self, key: &str) -> Source {
        self.0.get(key).copied().unwrap_or_default()
    }
}

/// Every setting with its value, by key.
pub fn all_settings(settings: &Settings) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    flatten(&serde_json::to_value(settings).unwrap_or_default(), "", &mut all);
    all
}

fn flatten(value: &Value, key: &str, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(value, &key, into);
            }
        }
        value => into.push((key.to_owned(), value.clone())),
    }
}
