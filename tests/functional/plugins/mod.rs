//! How plugins come, change and go: through the built binary, from real files, servers and registries.

mod address;
mod come_and_go;
mod hot;
mod incoming;
mod many;
mod mistaken;
mod pack;
mod registry;
mod signatures;
mod update;

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{Zipfs, certificates};

/// A command that trusts the certificates of the test servers, and nobody's credentials.
fn networked(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Zipfs(data).command();
    command.env("SSL_CERT_FILE", certificates()).env("HOME", data).args(arguments).output().expect("zipfs can be run")
}

/// The error of a command that must fail, as JSON.
#[track_caller]
fn error(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it succeeded: {}", String::from_utf8_lossy(&output.stdout));
    let start = text.find('{').unwrap_or_else(|| panic!("no JSON in {text}"));
    serde_json::from_str::<Value>(&text[start..]).unwrap_or_else(|error| panic!("{error}: {text}"))["error"].clone()
}

/// The result of a command that must succeed, as JSON.
#[track_caller]
fn result(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)))
}

/// The names of the plugins that are there, those of zipfs itself left out.
fn names(data: &Path) -> Vec<String> {
    let listed: Value = serde_json::from_str(&Zipfs(data).ok(&["--json", "plugin", "list"])).expect("JSON");
    let plugins = listed.as_array().expect("a list").iter();
    plugins.filter(|plugin| plugin["bundled"] == false).map(|plugin| plugin["name"].as_str().expect("a name").to_owned()).collect()
}

/// What is left in the directory of components, besides what was put there to be taken up.
fn components(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.join("plugins")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "incoming");
    names.sort();
    names
}
