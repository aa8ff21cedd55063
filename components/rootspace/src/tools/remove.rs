//! `file.remove`: a file goes away, if it is the one that was read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::digest::HashArgument;
use crate::place::Place;

const DESCRIPTION: &str = "\
Removes a file, text or binary, if its hash is still the given one. Returns nothing. A hash comes from file.create, text.read or the \
last edit.";

pub fn tool() -> Tool {
    Tool::new("file.remove", DESCRIPTION, remove).title("Remove file").writes().uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Hash of the file as you know it.
    hash: HashArgument,
}

#[derive(Serialize, JsonSchema)]
struct Removed {}

fn remove(arguments: Arguments) -> Result<Removed, Error> {
    Place::find(&arguments.path, false)?.remove(&arguments.hash)?;
    Ok(Removed {})
}
