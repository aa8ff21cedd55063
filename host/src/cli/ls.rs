//! `zipfs ls`.

use serde_json::{Value, json};

use super::console::Console;
use super::fields::{list, number, text};
use super::output::{paint, shown};
use super::target::Place;
use crate::failure::Failure;

/// The most that the tool returns in one answer.
const MOST_AT_ONCE: u64 = 50_000;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub place: Place,
    /// Show sizes and times.
    #[arg(long, short)]
    pub long: bool,
    /// List everything below too.
    #[arg(long, short)]
    pub recursive: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let listed = all(console, args).await?;
    console.show(&listed, |listed| {
        let entries = list(listed, "entries");
        let width = entries.iter().map(|entry| digits(number(entry, "size_bytes"))).max().unwrap_or(1);
        let mut lines = String::with_capacity(entries.len() * 60);
        for entry in entries {
            if args.long {
                let (size, modified) = (number(entry, "size_bytes"), text(entry, "modified_at"));
                lines += &format!("{size:>width$}  {modified}  ");
            }
            lines += &name(entry);
            lines.push('\n');
        }
        lines
    })
}

/// The whole list, however many answers it takes.
async fn all(console: &Console, args: &Args) -> Result<Value, Failure> {
    let mut entries = Vec::new();
    loop {
        let arguments = json!({"recursive": args.recursive, "offset": entries.len(), "limit": MOST_AT_ONCE});
        let mut part = args.place.ask(console, "zipfs_ls", arguments).await?;
        let more = part["truncated"] == true && !list(&part, "entries").is_empty();
        if let Value::Array(found) = part["entries"].take() {
            entries.extend(found);
        }
        if !more {
            part["entries"] = Value::Array(entries);
            part["truncated"] = false.into();
            return Ok(part);
        }
    }
}

fn name(entry: &Value) -> String {
    let name = shown(text(entry, "name"));
    match text(entry, "type") {
        "dir" => paint(anstyle::AnsiColor::Blue.on_default().bold(), &name),
        "symlink" => format!("{} -> {}", paint(anstyle::AnsiColor::Cyan.on_default(), &name), shown(text(entry, "target"))),
        _ => name.into_owned(),
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}
