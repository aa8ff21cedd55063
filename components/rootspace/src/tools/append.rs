//! `text.append`: text at the end of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::digest::HashArgument;
use crate::edit::Append;
use crate::lines::LineRange;
use crate::place::Place;

const DESCRIPTION: &str = "\
Appends content to the end of a text file, byte for byte: no line end is added before or after it. Returns the new hash, \
total_lines, and a note if the text continues a line that had no line end.";

pub fn tool() -> Tool {
    Tool::new("text.append", DESCRIPTION, append).title("Append text").writes().destructive(false).uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Hash of the file as you know it.
    hash: HashArgument,
    /// What to add.
    content: String,
}

#[derive(Serialize, JsonSchema)]
struct Appended {
    /// Hash of the file as it is now, for the next edit.
    hash: String,
    /// How many lines it has now.
    total_lines: u64,
    /// What may not be as you expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

fn append(arguments: Arguments) -> Result<Appended, Error> {
    let place = Place::find(&arguments.path, false)?;
    let (edited, edit) = place.edit(&arguments.hash, LineRange::ALL, |_, _| Ok(Append::new(arguments.content)))?;
    let note = edit.continued_line().map(|line| {
        format!("The file did not end in a newline, so the text continues line {line}. Begin content with \\n to begin a new line.")
    });
    Ok(Appended { hash: edited.hash.to_hex(), total_lines: edited.total_lines, note })
}
