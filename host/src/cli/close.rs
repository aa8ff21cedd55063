//! `zipfs close`: changes that are not in the archive are never thrown away unless somebody said so.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{count, list, number, truth};
use super::status;
use super::target::at;
use crate::config::CloseUnsaved;
use crate::failure::{Class, Failure};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session; the only one if left out.
    pub session: Option<String>,
    /// Write changes to the archive first.
    #[arg(long, conflicts_with = "no_sync")]
    pub sync: bool,
    /// Throw changes away.
    #[arg(long)]
    pub no_sync: bool,
}

/// How many changes a message names. All of them are in its details.
const LISTED: usize = 20;

enum Decision {
    Sync,
    Discard,
    Stay,
}

pub async fn run(console: &mut Console, args: &Args) -> Result<(), Failure> {
    // The host compares under the lock that it closes with, so nothing written meanwhile is lost unasked.
    console.config.settings.defaults.close_unsaved = CloseUnsaved::Refuse;
    let session = args.session.as_deref();
    let close = |sync: Option<bool>| {
        let arguments = sync.map_or_else(|| json!({}), |sync| json!({"sync": sync}));
        console.watch("Closing", "zipfs_close", at(session, None, arguments))
    };
    let closed = match (args.sync, args.no_sync) {
        (true, _) => close(Some(true)).await?,
        (_, true) => close(Some(false)).await?,
        _ => match close(None).await {
            Err(failure) if failure.code == "INVALID_PARAMS" => {
                let changes = console.ask("zipfs_status", at(session, None, json!({}))).await?;
                match decide(&changes, failure)? {
                    Decision::Sync => close(Some(true)).await?,
                    Decision::Discard => close(Some(false)).await?,
                    Decision::Stay => return Err(Failure::new(Class::Invalid, "NOT_CONFIRMED", "The session stays open.")),
                }
            }
            closed => closed?,
        },
    };
    console.confirm(&closed, words)
}

/// Asks, if somebody is there to be asked; otherwise the failure with the list of what would be lost.
fn decide(changes: &Value, failure: Failure) -> Result<Decision, Failure> {
    let changed: u64 = ["modified", "added", "deleted"].iter().map(|kind| list(changes, kind).len() as u64).sum();
    if changed == 0 {
        return Err(failure);
    }
    let listed = status::lines(changes);
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let listed = anstream::adapter::strip_str(&listed).to_string();
        let some: Vec<&str> = listed.lines().take(LISTED).collect();
        let more = if changed > LISTED as u64 { ", …" } else { "" };
        let message = format!("The session has {} not in the archive: {}{more}.", count(changed, "change"), some.join(", "));
        return Err(Failure::new(Class::Invalid, "UNSAVED_CHANGES", message)
            .suggest("Use --sync to keep them, --no-sync to throw them away.")
            .details(changes.clone()));
    }
    let mut err = anstream::stderr().lock();
    let _ = write!(err, "{} not in the archive:\n{listed}", count(changed, "change"));
    let _ = write!(err, "Sync them to the archive? [y]es, [n]o and throw them away, [c]ancel: ");
    let _ = err.flush();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| Failure::internal(format!("No answer: {error}.")))?;
    Ok(match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Decision::Sync,
        "n" | "no" => Decision::Discard,
        _ => Decision::Stay,
    })
}

fn words(closed: &Value) -> String {
    match (truth(closed, "synced"), number(closed, "discarded_changes")) {
        (true, _) => "Synced and closed.\n".to_owned(),
        (_, 0) => "Closed.\n".to_owned(),
        (_, discarded) => format!("Closed; {} thrown away.\n", count(discarded, "change")),
    }
}
