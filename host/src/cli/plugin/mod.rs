//! `zipfs plugin`: what a plugin may do is decided here, by a person, and nowhere else.

mod add;
mod list;
mod remove;

use super::console::Console;
use crate::failure::Failure;

#[derive(Debug, clap::Subcommand)]
pub enum PluginCommand {
    /// Examine a plugin, show what it can do, and add it.
    #[command(after_help = "Example: zipfs plugin add ./notes.wasm")]
    Add(add::Args),
    /// List the plugins.
    #[command(after_help = "Example: zipfs plugin list --json")]
    List,
    /// Remove a plugin.
    #[command(after_help = "Example: zipfs plugin remove notes")]
    Remove(remove::Args),
}

pub async fn run(console: &Console, command: &PluginCommand) -> Result<(), Failure> {
    match command {
        PluginCommand::Add(args) => add::run(console, args).await,
        PluginCommand::List => list::run(console).await,
        PluginCommand::Remove(args) => remove::run(console, args).await,
    }
}
