//! `zipfs plugin`: what a plugin may do is decided here, by a person, and nowhere else.

use std::io::{IsTerminal, Write};

use serde_json::json;

use super::args::{Args, PluginCommand};
use super::output::{print, print_json};
use crate::config::Config;
use crate::failure::{Class, Failure};
use crate::gate::Gate;
use crate::plugins::WorkspaceAccess;
use crate::plugins::admission::{Candidate, examine_ambient};
use crate::plugins::plugin::Origin;
use crate::sandbox::{Capability, Shape};

pub async fn run(config: Config, command: &PluginCommand, args: &Args) -> Result<(), Failure> {
    let gate = Gate::open(config, Shape::Command).await?;
    match command {
        PluginCommand::Add { path, yes, grants } => {
            let candidate = examine_ambient(path, &gate.sandbox, &gate.cache).await?;
            if !args.quiet && !args.json {
                print(&label(&candidate))?;
            }
            let granted = decide(&candidate, *yes, grants)?;
            let added = candidate.admit(&gate.registry(), &gate.store, granted)?;
            match (args.json, args.quiet) {
                (true, _) => print_json(&json!({"added": added.name, "version": added.version})),
                (false, true) => Ok(()),
                (false, false) => print(&format!("Added {} {}.\n", added.name, added.version)),
            }
        }
        PluginCommand::List => {
            let registry = gate.registry();
            if args.json {
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
            if args.quiet { Ok(()) } else { print(&format!("Removed {name}.\n")) }
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
        text += &format!("  asks for `{}`: {}\n", capability.name(), if why.is_empty() { "no reason given" } else { why });
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
