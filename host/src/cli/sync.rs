//! `zipfs sync`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{number, text};
use super::output::shown;
use super::target::at;
use super::{size, status};
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session; the only one if left out.
    pub session: Option<String>,
    /// Overwrite the archive even if somebody else changed it; their version is kept as the backup.
    #[arg(long)]
    pub force: bool,
    /// Only say what would be written.
    #[arg(long)]
    pub dry_run: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let arguments = at(args.session.as_deref(), None, json!({"force": args.force, "dry_run": args.dry_run}));
    let synced = console.watch("Syncing", "zipfs_sync", arguments).await?;
    match args.dry_run {
        true => console.show(&synced, |plan| plan_in_words(plan, console.quiet)),
        false => console.confirm(&synced, words),
    }
}

fn words(synced: &Value) -> String {
    let backup = text(synced, "backup_path");
    match is_empty(synced) && backup.is_empty() {
        true => "Nothing to sync.\n".to_owned(),
        false => format!("Synced: {}.\nBackup: {}\n", counts(synced), shown(backup)),
    }
}

fn plan_in_words(plan: &Value, quiet: bool) -> String {
    let listed = status::lines(plan);
    match (quiet, is_empty(plan)) {
        (true, _) => listed,
        (false, true) => "Nothing to sync.\n".to_owned(),
        (false, false) => {
            let size = size::for_people(number(plan, "estimated_size_bytes"));
            format!("{listed}Would write {}; the archive would have about {size}.\n", counts(plan))
        }
    }
}

fn is_empty(synced: &Value) -> bool {
    ["files_modified", "files_added", "files_deleted"].iter().all(|kind| number(synced, kind) == 0)
}

fn counts(synced: &Value) -> String {
    let of = |kind| number(synced, kind);
    format!("{} modified, {} added, {} deleted", of("files_modified"), of("files_added"), of("files_deleted"))
}
