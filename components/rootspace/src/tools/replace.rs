//! `text.replace`: lines that are known by their text, and others in their place.

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use super::Changed;
use crate::digest::HashArgument;
use crate::edit::Replace;
use crate::lines::LineRange;
use crate::place::Place;

const DESCRIPTION: &str = "\
Replaces whole lines. old is the full text of one or more consecutive lines, exactly as in the file, and must be at one place only \
within lines ([start, end]: from 1, end exclusive, negative from the end, 0 open; [1, 0] searches the whole file). new takes their \
place; an empty new removes them. Returns the new hash and total_lines.";

/// The search keeps five times this in memory. More is better replaced by text.patch or in parts.
/// Test: `mcp_045_what_is_looked_for_has_a_limit`.
pub const MOST_OLD: usize = 2 << 20;

pub fn tool() -> Tool {
    Tool::new("text.replace", DESCRIPTION, replace).title("Replace lines").writes().uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Hash of the file as you know it.
    hash: HashArgument,
    /// Where to look.
    lines: LineRange,
    /// The lines as they are.
    old: String,
    /// The lines as they shall be.
    new: String,
}

fn replace(arguments: Arguments) -> Result<Changed, Error> {
    let Arguments { path, hash, lines, old, new } = arguments;
    if old.len() > MOST_OLD {
        let message = format!("Invalid argument 'old': it has {} bytes, and at most {MOST_OLD} are looked for.", old.len());
        return Err(Error::limit("TOO_LARGE", message).suggest("Replace in parts, or use text.patch."));
    }
    let place = Place::find(&path, false)?;
    let (edited, _) = place.edit(&hash, lines, |file, size| {
        let bounds = lines.resolve(size, |offset, len| file.read_at(offset, len))?;
        Ok(Replace::new(&old, &new, bounds))
    })?;
    Ok(edited.into())
}
