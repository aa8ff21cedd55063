//! One tool per file: its description, its arguments, its result, and the function between them.

pub mod append;
pub mod create;
pub mod insert;
pub mod patch;
pub mod read;
pub mod remove;
pub mod replace;

use schemars::JsonSchema;
use serde::Serialize;

use crate::place::Edited;

/// What every edit of a text returns.
#[derive(Serialize, JsonSchema)]
pub struct Changed {
    /// Hash of the file as it is now, for the next edit.
    hash: String,
    /// How many lines it has now.
    total_lines: u64,
}

impl From<Edited> for Changed {
    fn from(edited: Edited) -> Changed {
        Changed { hash: edited.hash.to_hex(), total_lines: edited.total_lines }
    }
}
