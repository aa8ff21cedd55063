//! The command line as it is typed. What belongs to one command is in that command's file.

use clap::{Parser, Subcommand};

use super::*;

/// A tool host for AI agents: MCP on one side, sandboxed WebAssembly components on the other.
///
/// The same sessions serve agents and people: an archive that an agent opened can be listed, read and changed here, and the other
/// way round. A session is named by its name, its id, or the first four or more characters of the id; while one session is open
/// it need not be named.
#[derive(Debug, Parser)]
#[command(
    name = "zipfs",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Example: zipfs open report.zip --name report && zipfs ls report\n\n\
                  Exit codes: 0 well, 1 failed, 2 misused, 3 conflict, 4 no such session, 5 refused for safety.\n\
                  Environment: ZIPFS_DATA_DIR, ZIPFS_MAX_EXTRACTED_SIZE, ZIPFS_MAX_FILE_COUNT, ZIPFS_MAX_SESSIONS, ZIPFS_LOG, NO_COLOR."
)]
pub struct Args {
    /// Print JSON instead of text.
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    /// Print only what was asked for.
    #[arg(long, short, global = true, display_order = 901)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Open an archive as a session.
    #[command(after_help = "Example: zipfs open report.zip --name report")]
    Open(open::Args),
    /// End a session and remove its workspace.
    #[command(after_help = "Example: zipfs close report --sync")]
    Close(close::Args),
    /// List the open sessions.
    #[command(after_help = "Example: zipfs sessions --json")]
    Sessions,
    /// Remove sessions that are no longer needed.
    #[command(after_help = "Example: zipfs prune --stale 7d --dry-run")]
    Prune(prune::Args),
    /// List a directory of a session.
    #[command(after_help = "Example: zipfs ls report docs -l")]
    Ls(ls::Args),
    /// Draw a directory of a session as a tree.
    #[command(after_help = "Example: zipfs tree report --max-depth 2")]
    Tree(tree::Args),
    /// Print a file of a session.
    #[command(
        override_usage = "zipfs read [OPTIONS] [SESSION] <PATH>\n       zipfs read [OPTIONS] <SESSION:PATH>",
        after_help = "Example: zipfs read report:docs/intro.md"
    )]
    Read(read::Args),
    /// Write a file of a session, from standard input or the command line.
    #[command(
        override_usage = "zipfs write [OPTIONS] [SESSION] <PATH>\n       zipfs write [OPTIONS] <SESSION:PATH>",
        after_help = "Example: date | zipfs write report:docs/date.txt"
    )]
    Write(write::Args),
    /// Delete a file or directory of a session.
    #[command(
        override_usage = "zipfs delete [OPTIONS] [SESSION] <PATH>\n       zipfs delete [OPTIONS] <SESSION:PATH>",
        after_help = "Example: zipfs delete report:docs/old -r"
    )]
    Delete(delete::Args),
    /// Search the files of a session for a regular expression.
    #[command(after_help = "Example: zipfs grep 'total: [0-9]+' report docs --glob '**/*.md'")]
    Grep(grep::Args),
    /// Write the changes of a session back to its archive.
    #[command(after_help = "Example: zipfs sync report --dry-run")]
    Sync(sync::Args),
    /// Show what differs between a session and its archive.
    #[command(after_help = "Example: zipfs status report")]
    Status(status::Args),
    /// Print where the files of a session are.
    #[command(after_help = "Example: cd \"$(zipfs path report)\"")]
    Path(path::Args),
    /// Show changed lines against the archive.
    #[command(after_help = "Example: zipfs diff report docs")]
    Diff(diff::Args),
    /// Call any tool of any plugin.
    #[command(after_help = "Examples: zipfs call zipfs_read --arg path=README.md\n          \
                            zipfs call zipfs_read --json '{\"path\": \"README.md\"}'")]
    Call(call::Args),
    /// List the tools, or describe one.
    #[command(after_help = "Example: zipfs tools zipfs_read")]
    Tools(tools::Args),
    /// Add, list and remove plugins.
    #[command(subcommand, after_help = "Example: zipfs plugin add ./notes.wasm")]
    Plugin(plugin::PluginCommand),
    /// Look at the audit log, check it, or take it elsewhere.
    #[command(subcommand, after_help = "Example: zipfs audit verify")]
    Audit(audit::AuditCommand),
    /// Serve MCP on standard input and output, for an agent that starts zipfs itself.
    #[command(after_help = "Example: claude mcp add zipfs -- zipfs mcp")]
    Mcp(mcp::Args),
    /// Serve MCP over HTTP, for many agents.
    #[command(after_help = "Example: zipfs serve --listen 127.0.0.1:9999 --allow-local")]
    Serve(serve::Args),
    /// Make, list and remove the tokens that agents show to `zipfs serve`.
    #[command(subcommand, after_help = "Example: zipfs token add ci --role operator")]
    Token(token::TokenCommand),
    /// Print how to connect Claude Code, Cursor and VS Code.
    #[command(after_help = "Example: zipfs connect")]
    Connect,
    /// Show the installation and its configuration, and what is wrong with them.
    #[command(after_help = "Example: zipfs doctor --json")]
    Doctor,
    /// See zipfs at work: an archive is opened, edited and synced, and a hostile guest tries to get out. Leaves nothing behind.
    #[command(after_help = "Example: zipfs demo")]
    Demo,
    /// Print the script that lets a shell complete commands, sessions and paths.
    #[command(after_help = "Example: source <(zipfs completion bash)")]
    Completion(completion::Args),
    /// Print the version.
    #[command(after_help = "Example: zipfs version")]
    Version,
    /// Write the manual page, or all of them into a directory.
    #[command(hide = true, after_help = "Example: zipfs man | man -l -")]
    Man(man::Args),
    /// What could stand at the end of a command line: what the completion scripts ask.
    #[command(hide = true, after_help = "Example: zipfs complete -- ls rep")]
    Complete(complete::Args),
}
