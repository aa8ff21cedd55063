//! `zipfs status`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{count, list, number, texts};
use super::output::{paint, shown};
use super::target::at;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session; the only one if left out.
    pub session: Option<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let changes = console.ask("zipfs_status", at(args.session.as_deref(), None, json!({}))).await?;
    console.show(&changes, |changes| {
        let listed = lines(changes);
        let unchanged = count(number(changes, "unchanged_count"), "file");
        match (console.quiet, listed.is_empty()) {
            (true, _) => listed,
            (false, true) => format!("No changes; {unchanged} as in the archive.\n"),
            (false, false) => format!("{listed}{unchanged} as in the archive.\n"),
        }
    })
}

/// One line for each change: `M`, `A` or `D`, and the path.
pub fn lines(changes: &Value) -> String {
    use anstyle::AnsiColor::{Green, Red, Yellow};
    let kinds = [("modified", "M", Yellow), ("added", "A", Green), ("deleted", "D", Red)];
    let mut text = String::with_capacity(kinds.iter().map(|(kind, ..)| list(changes, kind).len() * 40).sum());
    for (kind, letter, colour) in kinds {
        for path in texts(changes, kind) {
            text += &format!("{} {}\n", paint(colour.on_default(), letter), shown(path));
        }
    }
    text
}
