//! What a manifest may not ask for, because it could not be given as it is meant.

use std::collections::BTreeSet;

use super::{Manifest, check_plugin_name};
use crate::failure::Failure;
use crate::sandbox::Capability;
use crate::sandbox::egress::{ReadPattern, is_method};
use crate::sandbox::guarded_fs::MOUNT_POINT;

/// Memory that one instance can have at all: what the pool of the server reserves for each.
const MOST_MEMORY: u64 = 1 << 30;
/// Longer calls are for jobs, not for tools.
const MOST_TIME_MS: u64 = 3_600_000;
/// A person has to read them. Of each kind.
const MOST_ASKS: usize = 64;

impl Manifest {
    pub(super) fn check(&self) -> Result<(), Failure> {
        check_plugin_name(&self.name)?;
        let wrong = |why: String| Failure::invalid(format!("plugin.toml is not valid: {why}.")).suggest("Correct the file.");
        if let Some(other) = self.capabilities.keys().find(|kind| !matches!(kind, Capability::Files | Capability::Sessions)) {
            let name = other.name();
            return Err(wrong(format!("`{name}` is not asked for under [capabilities], but with [[{name}]]")));
        }
        let most = [self.http.len(), self.directory.len(), self.environment.len(), self.secret.len(), self.endpoint.len()];
        if most.into_iter().any(|count| count > MOST_ASKS) {
            return Err(wrong(format!("it asks for more than {MOST_ASKS} things of one kind")));
        }
        self.check_http().map_err(wrong)?;
        self.check_directories().map_err(wrong)?;
        self.check_names().map_err(wrong)?;
        self.check_secrets().map_err(wrong)?;
        self.check_limits().map_err(wrong)
    }

    fn check_http(&self) -> Result<(), String> {
        for ask in &self.http {
            if let Some(method) = ask.methods.iter().find(|method| !is_method(method)) {
                return Err(format!("{method:?} is not a method that can be granted"));
            }
            for text in &ask.reads {
                ReadPattern::parse(text)?;
            }
        }
        Ok(())
    }

    /// A guest finds files by the longest path that fits, so no directory may be in another.
    fn check_directories(&self) -> Result<(), String> {
        let mut paths = vec![MOUNT_POINT];
        for ask in &self.directory {
            let path = ask.guest.as_str();
            let fits = path.len() <= 255
                && path.strip_prefix('/').is_some_and(|rest| {
                    rest.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control))
                });
            if !fits {
                return Err(format!("{path:?} is not an absolute path in its shortest form"));
            }
            let inside =
                |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if let Some(other) = paths.iter().find(|other| inside(path, other) || inside(other, path)) {
                return Err(format!("the directories {path} and {other} are in each other"));
            }
            paths.push(path);
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), String> {
        let kinds: [(&str, Vec<&str>); 3] = [
            ("directory", self.directory.iter().map(|ask| ask.name.as_str()).collect()),
            ("secret", self.secret.iter().map(|ask| ask.name.as_str()).collect()),
            ("endpoint", self.endpoint.iter().map(|ask| ask.name.as_str()).collect()),
        ];
        for (kind, names) in kinds {
            if let Some(name) = names.iter().find(|name| !is_name(name)) {
                return Err(format!("{name:?} cannot be the name of a {kind}; use letters, digits, `_` and `-`"));
            }
            check_twice(kind, &names)?;
        }
        let variables: Vec<&str> = self.environment.iter().map(|ask| ask.name.as_str()).collect();
        if let Some(name) = variables.iter().find(|name| !is_variable(name)) {
            return Err(format!("{name:?} cannot be the name of a variable"));
        }
        check_twice("environment", &variables)
    }

    fn check_secrets(&self) -> Result<(), String> {
        for ask in &self.secret {
            let name = &ask.name;
            let Some(header) = &ask.header else {
                match ask.format.is_some() || ask.host.is_some() {
                    true => return Err(format!("the secret {name} has a format or a host, but no header to be put into")),
                    false => continue,
                }
            };
            let forbidden = http::HeaderName::try_from(header.as_str()).map_or(true, |header| {
                wasmtime_wasi_http::DEFAULT_FORBIDDEN_HEADERS.contains(&header) || FRAMING.contains(&header.as_str())
            });
            if forbidden {
                return Err(format!("{header:?} is not a header that a secret can be put into"));
            }
            if ask.host.is_none() {
                return Err(format!("the secret {name} has a header, but no host to be sent to"));
            }
            let format = ask.format.as_deref().unwrap_or("{}");
            if format.matches("{}").count() != 1 || http::HeaderValue::try_from(format).is_err() {
                return Err(format!("the format of the secret {name} must have one `{{}}` and be fit for a header"));
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), String> {
        let Some(limits) = &self.limits else { return Ok(()) };
        if limits.memory_bytes.is_some_and(|bytes| bytes > MOST_MEMORY) {
            return Err(format!("limits.memory_bytes is more than {MOST_MEMORY}, which no call can have"));
        }
        if [limits.cpu_ms, limits.deadline_ms].into_iter().flatten().any(|ms| ms > MOST_TIME_MS) {
            return Err(format!("limits.cpu_ms or limits.deadline_ms is more than {MOST_TIME_MS}"));
        }
        Ok(())
    }
}

/// Headers that say where a message begins and ends.
const FRAMING: [&str; 4] = ["content-length", "te", "trailer", "expect"];

fn check_twice(kind: &str, names: &[&str]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(**name)) {
        Some(name) => Err(format!("there are two of [[{kind}]] named {name}")),
        None => Ok(()),
    }
}

/// Names become names of files and words of the command line.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_variable(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}
