//! `zipfs plugin list`: the plugins there are.

use serde_json::json;

use super::granted;
use crate::cli::console::Console;
use crate::cli::output::{print, print_json};
use crate::failure::Failure;
use crate::plugins::plugin::Origin;

pub async fn run(console: &Console) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let registry = gate.registry();
    if console.json {
        let all = registry.plugins.iter().map(|plugin| {
            let bundled = matches!(plugin.origin, Origin::Bundled(_));
            let tools: Vec<&str> = plugin.description.tools.iter().map(|tool| tool.name.as_str()).collect();
            json!({"name": plugin.description.name, "version": plugin.description.version, "bundled": bundled,
                   "digest": plugin.digest, "granted": granted(gate, plugin), "tools": tools})
        });
        return print_json(&all.collect());
    }
    for plugin in &registry.plugins {
        let origin = if matches!(plugin.origin, Origin::Bundled(_)) { "bundled" } else { &plugin.digest[..12] };
        let count = plugin.description.tools.len();
        print(&format!("{} {} ({origin}), {count} tools\n", plugin.description.name, plugin.description.version))?;
    }
    Ok(())
}
