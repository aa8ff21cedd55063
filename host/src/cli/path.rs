//! `zipfs path`.

use std::io::IsTerminal;

use serde_json::json;

use super::console::Console;
use super::fields::text;
use super::output::{print, print_json};
use super::target::at;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session; the only one if left out.
    pub session: Option<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let found = console.ask("zipfs_path", at(args.session.as_deref(), None, json!({}))).await?;
    if console.json {
        return print_json(&found);
    }
    // Whoever reads it from a pipe takes the path as it comes.
    let end = if std::io::stdout().is_terminal() { "\n" } else { "" };
    print(&format!("{}{end}", text(&found, "path")))
}
