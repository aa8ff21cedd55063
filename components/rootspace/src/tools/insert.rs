//! `text.insert`: new lines before a line that is known by its number and its text.

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use super::Changed;
use crate::digest::HashArgument;
use crate::edit::Insert;
use crate::lines::{Bound, LF, LineRange, from_end, without_final_lf};
use crate::place::Place;

const DESCRIPTION: &str = "\
Inserts content as new lines before line (from 1; -1 is the last line). anchor is the full text of that line as it is now, so that \
nothing lands in the wrong place. content gets a line end if it has none. To add behind the last line use text.append. Returns the \
new hash and total_lines.";

pub fn tool() -> Tool {
    Tool::new("text.insert", DESCRIPTION, insert).title("Insert lines").writes().destructive(false).uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Hash of the file as you know it.
    hash: HashArgument,
    /// The line to insert before.
    line: i64,
    /// What this line says now.
    anchor: String,
    /// The new lines.
    content: String,
}

fn insert(arguments: Arguments) -> Result<Changed, Error> {
    let Arguments { path, hash, line, anchor, content } = arguments;
    if content.is_empty() {
        return Err(
            Error::invalid("INVALID_PARAMS", "Invalid argument 'content': it is empty.").suggest("Pass \\n for a blank line.")
        );
    }
    let anchor = without_final_lf(&anchor);
    if anchor.as_bytes().contains(&LF) {
        let message = "Invalid argument 'anchor': it is more than one line.";
        return Err(Error::invalid("INVALID_PARAMS", message).suggest("Give the one line before which to insert."));
    }
    let place = Place::find(&path, false)?;
    let (edited, _) = place.edit(&hash, LineRange::ALL, |file, size| {
        let nowhere = Bound::Line(u64::MAX);
        let bound = match line {
            0 => nowhere,
            1.. => Bound::Line(line.unsigned_abs()),
            _ => {
                let wanted = line.unsigned_abs();
                let from_end = from_end(size, wanted, &mut |offset, len| file.read_at(offset, len))?;
                if from_end.found == wanted { Bound::Offset(from_end.offset) } else { nowhere }
            }
        };
        Ok(Insert::new(bound, line, anchor, &content))
    })?;
    Ok(edited.into())
}
