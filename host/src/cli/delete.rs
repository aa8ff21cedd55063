//! `zipfs delete`.

use serde_json::json;

use super::console::Console;
use super::fields::text;
use super::output::shown;
use super::target::File;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub file: File,
    /// Delete a directory with everything in it.
    #[arg(long, short)]
    pub recursive: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let deleted = args.file.ask(console, "zipfs_delete", json!({"recursive": args.recursive})).await?;
    console.confirm(&deleted, |deleted| format!("Deleted {}.\n", shown(text(deleted, "path"))))
}
