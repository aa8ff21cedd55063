//! `zipfs plugin`: what a plugin may do is decided here, by a person, and nowhere else.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use serde_json::json;

use super::console::Console;
use super::output::{print, print_json, shown};
use crate::failure::{Class, Failure};
use crate::plugins::WorkspaceAccess;
use crate::plugins::admission::{Candidate, examine_ambient};
use crate::plugins::plugin::Origin;
use crate::sandbox::Capability;

#[derive(Debug, clap::Subcommand)]
pub enum PluginCommand {
    /// Examine a plugin, show what it can do, and add it.
    #[command(after_help = "Example: zipfs plugin add ./notes.wasm")]
    Add {
        /// A .wasm file, or a directory with plugin.toml and one .wasm file.
        path: PathBuf,
        /// Do not ask, if the plugin needs nothing beyond the session's workspace.
        #[arg(long)]
        yes: bool,
        /// Grant a capability that the plugin asks for.
        #[arg(long = "grant", value_name = "CAPABILITY")]
        grants: Vec<String>,
    },
    /// List the plugins.
    #[command(after_help = "Example: zipfs plugin list --json")]
    List,
    /// Remove a plugin.
    #[command(after_help = "Example: zipfs plugin remove notes")]
    Remove {
        /// Name of the plugin.
        name: String,
    },
}

pub async fn run(console: &Console, command: &PluginCommand) -> Result<(), Failure> {
    let gate = console.gate().await?;
    match command {
        PluginCommand::Add { path, yes, grants } => {
            let candidate = examine_ambient(path, &gate.sandbox, &gate.cache).await?;
            if !console.quiet && !console.json {
                print(&label(&candidate))?;
            }
            let granted = decide(&candidate, *yes, grants)?;
            let added = candidate.admit(&gate.registry(), &gate.store, granted)?;
            let result = json!({"added": added.name, "version": added.version});
            console.confirm(&result, |_| format!("Added {} {}.\n", added.name, added.version))
        }
        PluginCommand::List => {
            let registry = gate.registry();
            if console.json {
                let all = registry.plugins.iter().map(|plugin| {
                    let bundled = matches!(plugin.origin, Origin::Bundled(_));
                    let tools: Vec<&str> = plugin.description.tools.iter().map(|tool| tool.name.as_str()).collect();
                    json!({"name": plugin.description.name, "version": plugin.description.version, "bundled": bundled,
                           "digest": plugin.digest, "granted": plugin.granted, "tools": tools})
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
        PluginCommand::Remove { name } => {
            gate.store.remove(name)?;
            console.confirm(&json!({"removed": name}), |_| format!("Removed {name}.\n"))
        }
    }
}

/// What the plugin can and cannot do, in a few lines.
fn label(candidate: &Candidate) -> String {
    let mut text = format!("{} {}\n", candidate.description.name, candidate.description.version);
    for tool in &candidate.description.tools {
        let access = match tool.access.workspace {
            WorkspaceAccess::None => "no workspace",
            WorkspaceAccess::Read => "reads the workspace",
            WorkspaceAccess::Write => "changes the workspace",
        };
        text += &format!("  {}: {access}\n", tool.name);
    }
    for (capability, why) in &candidate.manifest.capabilities {
        text += &format!(
            "  asks for `{}`: {}\n",
            capability.name(),
            if why.is_empty() { "no reason given".into() } else { shown(why) }
        );
    }
    text + "  cannot: use the network, start programs, see other files, read the environment\n"
}

/// The grants, if somebody decided. What goes beyond the workspace has to be named; nobody says yes to it in passing.
fn decide(candidate: &Candidate, yes: bool, grants: &[String]) -> Result<Vec<Capability>, Failure> {
    let mut granted = Vec::new();
    for name in grants {
        let capability = Capability::by_name(name).ok_or_else(|| Failure::invalid(format!("There is no capability {name:?}.")))?;
        if !candidate.manifest.capabilities.contains_key(&capability) {
            return Err(Failure::invalid(format!("The plugin does not ask for `{name}`.")));
        }
        granted.push(capability);
    }
    let missing: Vec<&str> =
        candidate.manifest.capabilities.keys().filter(|asked| !granted.contains(asked)).map(|asked| asked.name()).collect();
    if !missing.is_empty() {
        let flags: Vec<String> = missing.iter().map(|name| format!("--grant {name}")).collect();
        return Err(Failure::new(
            Class::Forbidden,
            "GRANT_NEEDED",
            format!("The plugin asks for more than the workspace: {}.", missing.join(", ")),
        )
        .suggest(format!("If you agree, add: {}", flags.join(" "))));
    }
    if yes || !grants.is_empty() || confirmed()? {
        return Ok(granted);
    }
    Err(Failure::new(Class::Forbidden, "NOT_CONFIRMED", "The plugin was not added.").suggest("Confirm, or use --yes."))
}

fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "Add it? [y/N] ");
    let _ = err.flush();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::internal(format!("No answer: {error}.")))?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
