//! The command line as it is typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A tool host for AI agents: MCP on one side, sandboxed WebAssembly components on the other.
#[derive(Debug, Parser)]
#[command(name = "zipfs", version, arg_required_else_help = true, disable_help_subcommand = false)]
pub struct Args {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only what was asked for.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve MCP on standard input and output, for an agent that starts zipfs itself.
    Mcp,
    /// See zipfs at work: an archive is opened, edited and synced, and a hostile guest tries to get out. Leaves nothing behind.
    Demo,
    /// Call a tool.
    #[command(after_help = "Example: zipfs call zipfs_read --arg path=README.md")]
    Call(CallArgs),
    /// List the tools, or describe one.
    #[command(after_help = "Example: zipfs tools zipfs_read")]
    Tools {
        /// The tool to describe.
        name: Option<String>,
    },
    /// Add, list and remove plugins.
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Print how to connect Claude Code, Cursor and VS Code.
    Connect,
    /// Print the version.
    Version,
}

#[derive(Debug, clap::Args)]
pub struct CallArgs {
    /// Name of the tool.
    pub tool: String,
    /// One argument. The value is read as JSON if it is JSON, and as text otherwise.
    #[arg(long = "arg", short = 'a', value_name = "NAME=VALUE")]
    pub arguments: Vec<String>,
    /// All arguments, as a JSON object.
    #[arg(long = "args", value_name = "JSON", conflicts_with = "arguments")]
    pub object: Option<String>,
}

#[derive(Debug, Subcommand)]
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
    List,
    /// Remove a plugin.
    Remove {
        /// Name of the plugin.
        name: String,
    },
}
