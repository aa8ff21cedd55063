//! `zipfs grep`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{list, number, text, truth};
use super::output::{paint, shown};
use super::target::Place;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A regular expression.
    pub pattern: String,
    #[command(flatten)]
    pub place: Place,
    /// Search only files whose path fits, such as '*.md' or 'docs/**'.
    #[arg(long, short, value_name = "GLOB")]
    pub glob: Option<String>,
    /// Take capital and small letters for the same.
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Show line numbers, which is always done.
    #[arg(long, short = 'n')]
    pub line_number: bool,
    /// How many lines to print at most.
    #[arg(long, short, value_name = "N", default_value_t = 100)]
    pub max_results: u64,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let mut arguments = json!({"pattern": args.pattern, "ignore_case": args.ignore_case, "max_results": args.max_results});
    if let Some(glob) = &args.glob {
        arguments["glob"] = json!(glob);
    }
    let found = args.place.ask(console, "zipfs_grep", arguments).await?;
    console.show(&found, |found| list(found, "matches").iter().map(line).collect())?;
    for skipped in list(&found, "skipped") {
        console.remark(&format!("not searched: {} ({})", text(skipped, "file"), text(skipped, "reason")));
    }
    if truth(&found, "truncated") && !console.json {
        let (shown, total) = (list(&found, "matches").len(), number(&found, "total_matches"));
        console.remark(&format!("{shown} of {total} matching lines; see more with --max-results {total}"));
    }
    Ok(())
}

fn line(found: &Value) -> String {
    use anstyle::AnsiColor::{Green, Magenta};
    let file = paint(Magenta.on_default(), &shown(text(found, "file")));
    let number = paint(Green.on_default(), &number(found, "line_number").to_string());
    format!("{file}:{number}:{}\n", shown(text(found, "line_content")))
}
