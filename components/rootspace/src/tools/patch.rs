//! `text.patch`: a unified diff, all of it or nothing.

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use super::Changed;
use crate::digest::HashArgument;
use crate::edit::{PatchEdit, parse};
use crate::lines::LineRange;
use crate::place::Place;

const DESCRIPTION: &str = "\
Applies a unified diff of one file ('@@ -12,5 +12,6 @@' and lines that begin with ' ', '-' or '+'). Each hunk must fit exactly at \
the line its header names; if one does not, nothing is changed and the error says which line holds what. Names in '---' and '+++' \
are not looked at. Returns the new hash and total_lines.";

pub fn tool() -> Tool {
    Tool::new("text.patch", DESCRIPTION, patch).title("Apply patch").writes().uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Hash of the file as you know it.
    hash: HashArgument,
    /// The unified diff.
    patch: String,
}

fn patch(arguments: Arguments) -> Result<Changed, Error> {
    let patch = parse(&arguments.patch)?;
    drop(arguments.patch);
    let place = Place::find(&arguments.path, false)?;
    let (edited, _) = place.edit(&arguments.hash, LineRange::ALL, |_, _| Ok(PatchEdit::new(patch)))?;
    Ok(edited.into())
}
