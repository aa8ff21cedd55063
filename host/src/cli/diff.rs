//! `zipfs diff`.

use serde_json::json;

use super::console::Console;
use super::fields::{list, text, truth};
use super::output::{paint, shown};
use super::target::Place;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
    /// How many unchanged lines to show around a change.
    #[arg(long, short = 'U', value_name = "LINES", default_value_t = 3)]
    pub context: u64,
    /// How many bytes to show at most.
    #[arg(long, value_name = "BYTES", value_parser = super::size::parse)]
    pub max_bytes: Option<u64>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let mut arguments = json!({"context": args.context});
    if let Some(bytes) = args.max_bytes {
        arguments["max_bytes"] = json!(bytes);
    }
    let compared = args.place.ask(console, "zipfs_diff", arguments).await?;
    console.show(&compared, |compared| text(compared, "diff").split_inclusive('\n').map(line).collect())?;
    if truth(&compared, "truncated") && !console.json {
        let cut = list(&compared, "files").iter().filter(|file| truth(file, "truncated")).count();
        console.remark(&format!("not all changes are shown ({cut} files are cut); see more with --max-bytes, or name a path"));
    }
    Ok(())
}

fn line(line: &str) -> String {
    use anstyle::AnsiColor::{Cyan, Green, Red};
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => anstyle::Style::new().bold(),
        [b'+', ..] => Green.on_default(),
        [b'-', ..] => Red.on_default(),
        [b'@', ..] => Cyan.on_default(),
        _ => anstyle::Style::new(),
    };
    let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
    match style.is_plain() {
        true => format!("{}{end}", shown(content)),
        false => paint(style, &shown(content)) + end,
    }
}
