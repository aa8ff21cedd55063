//! Two tools that look at a directory: list it, and read its files. Their errors carry the names of exceptions that callers know.

#![deny(unsafe_code)]

mod limit;
mod list;
mod place;
mod read;

use zipfs_sdk::{About, Plugin, Tool};

/// The plugin.
pub struct Files;

impl Plugin for Files {
    const INVALID_ARGUMENTS: &'static str = "ValueError";

    fn about() -> About {
        About::new("fs", "0.1.0")
            .title("Files")
            .instructions("fs.listDirectory shows what a directory holds, fs.readFile the contents of a file. Paths are relative to one root; '/' is that root.")
    }

    fn tools() -> Vec<Tool> {
        vec![list::tool(), read::tool()]
    }
}

zipfs_sdk::export!(Files);
