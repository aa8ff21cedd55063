//! `zipfs plugin add`: what a component can do is shown before it is let in.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use serde_json::json;

use crate::cli::console::Console;
use crate::cli::output::{print, shown};
use crate::failure::{Class, Failure};
use crate::plugins::WorkspaceAccess;
use crate::plugins::admission::{Candidate, examine_ambient};
use crate::sandbox::Capability;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A .wasm file, or a directory with plugin.toml and one .wasm file.
    pub path: PathBuf,
    /// Do not ask, if the plugin needs nothing beyond the session's workspace.
    #[arg(long)]
    pub yes: bool,
    /// Grant a capability that the plugin asks for.
    #[arg(long = "grant", value_name = "CAPABILITY")]
    pub grants: Vec<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let candidate = examine_ambient(&args.path, &gate.sandbox, &gate.cache).await?;
    if !console.quiet && !console.json {
        print(&label(&candidate))?;
    }
    let granted = decide(&candidate, args.yes, &args.grants)?;
    let added = candidate.admit(&gate.registry(), &gate.store, granted)?;
    let result = json!({"added": added.name, "version": added.version});
    console.confirm(&result, |_| format!("Added {} {}.\n", added.name, added.version))
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
