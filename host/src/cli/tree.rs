//! `zipfs tree`.

use serde_json::json;

use super::console::Console;
use super::fields::{number, text};
use super::output::shown;
use super::target::Place;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
    /// How many levels to draw; 0 for all.
    #[arg(long, short = 'L', value_name = "N")]
    pub max_depth: Option<u64>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let arguments = args.max_depth.map_or_else(|| json!({}), |depth| json!({"max_depth": depth}));
    let drawn = args.place.ask(console, "zipfs_tree", arguments).await?;
    console.show(&drawn, |drawn| {
        let tree = shown(text(drawn, "tree"));
        let directories = match number(drawn, "dir_count") {
            1 => "1 directory".to_owned(),
            many => format!("{many} directories"),
        };
        match console.quiet {
            true => format!("{tree}\n"),
            false => format!("{tree}\n\n{directories}, {}\n", super::fields::count(number(drawn, "file_count"), "file")),
        }
    })
}
