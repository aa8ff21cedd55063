//! `zipfs tree`.

use serde_json::json;

use super::console::Console;
use super::fields::{number, text};
use super::output::shown;
use super::target::Place;
use crate::failure::Failure;

/// The most that the tool draws.
const MOST_LINES: u64 = 100_000;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
    /// How many levels to draw; 0 for all.
    #[arg(long, short = 'L', value_name = "N")]
    pub max_depth: Option<u64>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let arguments = json!({"max_depth": args.max_depth.unwrap_or(0), "max_lines": MOST_LINES});
    let drawn = args.place.ask(console, "zipfs_tree", arguments).await?;
    console.show(&drawn, |drawn| {
        let tree = shown(text(drawn, "tree"));
        let directories = match number(drawn, "dir_count") {
            1 => "1 directory".to_owned(),
            many => format!("{many} directories"),
        };
        let more = if drawn["truncated"] == true { "\n… and more; draw a part of it, or less deep" } else { "" };
        match console.quiet {
            true => format!("{tree}{more}\n"),
            false => format!("{tree}{more}\n\n{directories}, {}\n", super::fields::count(number(drawn, "file_count"), "file")),
        }
    })
}
