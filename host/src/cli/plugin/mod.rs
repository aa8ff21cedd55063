//! `zipfs plugin`: what a plugin may do is decided here, by a person, and nowhere else.

mod acts;
mod add;
mod bench;
mod check;
mod get;
mod grant;
mod info;
mod label;
mod list;
mod new;
mod pack;
mod remove;
mod revoke;
mod test;
mod update;
mod verify;

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
    /// Show what a plugin may do, and where it comes from.
    #[command(after_help = "Example: zipfs plugin info notes")]
    Info(info::Args),
    /// Look for a newer version of a plugin. One that asks for more, or tells agents something else, waits to be approved.
    #[command(after_help = "Example: zipfs plugin update notes --from ./notes-1.1.0.wasm")]
    Update(update::Args),
    /// Check digests, signatures, grants and compiled code of the plugins.
    #[command(after_help = "Example: zipfs plugin verify")]
    Verify(verify::Args),
    /// Make one file of a plugin, to hand on.
    #[command(after_help = "Example: zipfs plugin pack ./notes --output notes.wasm")]
    Pack(pack::PackArgs),
    /// Sign a packed plugin.
    #[command(after_help = "Example: zipfs plugin sign notes.wasm --key ~/.zipfs.key")]
    Sign(pack::SignArgs),
    /// Make a key to sign plugins with.
    #[command(after_help = "Example: zipfs plugin keygen ~/.zipfs.key")]
    Keygen(pack::KeygenArgs),
    /// Remove a plugin, with its grants and secrets.
    #[command(after_help = "Example: zipfs plugin remove notes")]
    Remove(remove::Args),
    /// For authors: make a project that builds and passes its own tests.
    #[command(after_help = "Example: zipfs plugin new word-count --lang rust")]
    New(new::Args),
    /// For authors: look at a plugin as a reviewer would, and say what to put right.
    #[command(after_help = "Example: zipfs plugin check . --strict")]
    Check(check::Args),
    /// For authors: play golden cases, call with hostile arguments, and see what the plugin reaches for.
    #[command(after_help = "Example: zipfs plugin test . --update")]
    Test(test::Args),
    /// For authors: measure size, time and memory.
    #[command(after_help = "Example: zipfs plugin bench . --rounds 1000")]
    Bench(bench::Args),
}

pub async fn run(console: &Console, command: &PluginCommand) -> Result<(), Failure> {
    match acts::of(command) {
        Some(act) => {
            let acting = act.begin(&console.config)?;
            acting.end(carry_out(console, command).await)
        }
        None => carry_out(console, command).await,
    }
}

async fn carry_out(console: &Console, command: &PluginCommand) -> Result<(), Failure> {
    match command {
        PluginCommand::Add(args) => add::run(console, args).await,
        PluginCommand::List => list::run(console).await,
        PluginCommand::Grant(args) => grant::run(console, args).await,
        PluginCommand::Revoke(args) => revoke::run(console, args).await,
        PluginCommand::Info(args) => info::run(console, args).await,
        PluginCommand::Update(args) => update::run(console, args).await,
        PluginCommand::Verify(args) => verify::run(console, args).await,
        PluginCommand::Pack(args) => pack::pack(console, args).await,
        PluginCommand::Sign(args) => pack::sign_file(console, args).await,
        PluginCommand::Keygen(args) => pack::keygen(console, args).await,
        PluginCommand::Remove(args) => remove::run(console, args).await,
        PluginCommand::New(args) => new::run(console, args),
        PluginCommand::Check(args) => check::run(console, args).await,
        PluginCommand::Test(args) => test::run(console, args).await,
        PluginCommand::Bench(args) => bench::run(console, args).await,
    }
}

/// What a plugin has now, in a few words each.
pub(super) fn granted(gate: &Gate, plugin: &Plugin) -> Vec<String> {
    let own = plugin.manifest.capabilities.keys().filter(|_| matches!(plugin.origin, Origin::Bundled(_)));
    let own = own.map(|capability| capability.name().to_owned());
    own.chain(gate.grants.of(plugin).unwrap_or_default().iter().map(|grant| grant.given.label())).collect()
}
