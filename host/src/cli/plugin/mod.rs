//! `zipfs plugin`: what a plugin may do is decided here, by a person, and nowhere else.

mod add;
mod grant;
mod list;
mod remove;
mod revoke;

use super::console::Console;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::plugins::Plugin;
use crate::plugins::plugin::Origin;

#[derive(Debug, clap::Subcommand)]
pub enum PluginCommand {
    /// Examine a plugin, show what it can do, and add it.
    #[command(after_help = "Example: zipfs plugin add ./notes.wasm")]
    Add(add::Args),
    /// List the plugins.
    #[command(after_help = "Example: zipfs plugin list --json")]
    List,
    /// Grant an installed plugin something that it asks for.
    #[command(after_help = "Example: zipfs plugin grant weather http=api.example.com --expires 30d")]
    Grant(grant::Args),
    /// Take grants away. Calls that run under one end at once.
    #[command(after_help = "Example: zipfs plugin revoke weather http")]
    Revoke(revoke::Args),
    /// Remove a plugin, with its grants and secrets.
    #[command(after_help = "Example: zipfs plugin remove notes")]
    Remove(remove::Args),
}

pub async fn run(console: &Console, command: &PluginCommand) -> Result<(), Failure> {
    match command {
        PluginCommand::Add(args) => add::run(console, args).await,
        PluginCommand::List => list::run(console).await,
        PluginCommand::Grant(args) => grant::run(console, args).await,
        PluginCommand::Revoke(args) => revoke::run(console, args).await,
        PluginCommand::Remove(args) => remove::run(console, args).await,
    }
}

/// What a plugin has now, in a few words each.
pub(super) fn granted(gate: &Gate, plugin: &Plugin) -> Vec<String> {
    let own = plugin.manifest.capabilities.keys().filter(|_| matches!(plugin.origin, Origin::Bundled(_)));
    let own = own.map(|capability| capability.name().to_owned());
    own.chain(gate.grants.of(plugin).unwrap_or_default().iter().map(|grant| grant.given.label())).collect()
}
