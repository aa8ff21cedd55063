//! `zipfs plugin list`: the plugins there are, and those that wait to be.

use serde_json::{Value, json};

use super::granted;
use crate::cli::console::Console;
use crate::cli::output::shown;
use crate::failure::Failure;
use crate::plugins::incoming::Incoming;
use crate::plugins::plugin::Origin;

pub async fn run(console: &Console) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let plugins: Vec<Value> = gate
        .registry()
        .plugins
        .iter()
        .map(|plugin| {
            let bundled = matches!(plugin.origin, Origin::Bundled(_));
            let tools: Vec<&str> = plugin.description.tools.iter().map(|tool| tool.name.as_str()).collect();
            json!({"name": plugin.description.name, "version": plugin.description.version, "bundled": bundled,
                   "digest": plugin.digest, "granted": granted(gate, plugin), "tools": tools})
        })
        .collect();
    let waiting = Incoming::new(&console.config.data).waiting();
    // One list, as scripts know it; what waits has no name yet.
    let waiting = waiting.into_iter().map(|one| json!({"waiting": one}));
    console.show(&plugins.into_iter().chain(waiting).collect(), words)
}

fn words(result: &Value) -> String {
    let text = |value: &Value| shown(value.as_str().unwrap_or_default()).into_owned();
    let mut lines = String::new();
    let entries = || result.as_array().into_iter().flatten();
    for plugin in entries().filter(|entry| entry["waiting"].is_null()) {
        let digest = text(&plugin["digest"]);
        let origin = if plugin["bundled"] == true { "bundled" } else { &digest[..12.min(digest.len())] };
        let count = plugin["tools"].as_array().map_or(0, Vec::len);
        lines += &format!("{} {} ({origin}), {count} tools\n", text(&plugin["name"]), text(&plugin["version"]));
    }
    for entry in entries().map(|entry| &entry["waiting"]).filter(|waiting| !waiting.is_null()) {
        lines += &format!("waiting: {}: {} {}\n", text(&entry["entry"]), text(&entry["why"]), text(&entry["next"]));
    }
    lines
}
