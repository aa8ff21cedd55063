//! `zipfs prune`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{count, list, number, text};
use super::output::shown;
use super::size;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub struct Args {
    /// Remove all sessions. Their changes are lost.
    #[arg(long, group = "which")]
    pub all: bool,
    /// Remove sessions that were not used for this long: 90m, 24h, 7d.
    #[arg(long, value_name = "DURATION", group = "which")]
    pub stale: Option<String>,
    /// Only say what would be removed.
    #[arg(long)]
    pub dry_run: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let mut arguments = json!({"all": args.all, "dry_run": args.dry_run});
    if let Some(stale) = &args.stale {
        arguments["stale"] = json!(stale);
    }
    let pruned = console.watch("Pruning", "zipfs_prune", arguments).await?;
    for skipped in list(&pruned, "skipped") {
        console.remark(&format!("left alone: {} ({})", handle(skipped), text(skipped, "reason")));
    }
    console.confirm(&pruned, |pruned| words(pruned, args.dry_run))
}

fn words(pruned: &Value, dry_run: bool) -> String {
    let sessions = list(pruned, "pruned");
    let verb = if dry_run { "Would remove" } else { "Removed" };
    let mut text: String = sessions
        .iter()
        .map(|session| format!("{verb} {}: {}\n", shown(handle(session)), shown(self::text(session, "reason"))))
        .collect();
    let freed = size::for_people(number(pruned, "freed_bytes"));
    let all = count(sessions.len() as u64, "session");
    text += &match dry_run {
        true => format!("{all}, {freed} would be freed.\n"),
        false => format!("{all}, {freed} freed.\n"),
    };
    text
}

fn handle(session: &Value) -> &str {
    match text(session, "name") {
        "" => text(session, "id"),
        name => name,
    }
}
