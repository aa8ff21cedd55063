//! `zipfs_status`: what a sync would write.

use schemars::JsonSchema;
use serde::Serialize;
use zipfs_sdk::{Error, NoArguments, Tool, sessions};

const DESCRIPTION: &str = "\
Compares the workspace with the archive as it was last opened or synced. Use it before zipfs_sync or zipfs_close. Returns the \
paths that were modified, added and deleted, each sorted, and unchanged_count. If all three lists are empty there is nothing to \
sync.";

pub fn tool() -> Tool {
    Tool::new("zipfs_status", DESCRIPTION, status).title("Show changes").reads().uses("sessions")
}

#[derive(Serialize, JsonSchema)]
struct Status {
    modified: Vec<String>,
    added: Vec<String>,
    deleted: Vec<String>,
    /// Files that are as they were.
    unchanged_count: u64,
}

fn status(_: NoArguments) -> Result<Status, Error> {
    let changes = sessions::status()?;
    Ok(Status {
        modified: changes.modified,
        added: changes.added,
        deleted: changes.deleted,
        unchanged_count: changes.unchanged_count,
    })
}
