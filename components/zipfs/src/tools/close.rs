//! `zipfs_close`: the end of a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{Error, Role, Tool, sessions};

const DESCRIPTION: &str = "\
Ends a session and removes its workspace. Use it when the work on an archive is done. With sync=true the changes are written to \
the archive first, and if that fails the session stays open; without it, changes that were not synced are lost. Returns closed, \
synced, and discarded_changes: how many changed files were thrown away. Look at zipfs_status before closing without sync.";

pub fn tool() -> Tool {
    Tool::new("zipfs_close", DESCRIPTION, close)
        .title("Close session")
        .role(Role::Operator)
        .reads()
        .uses("sessions")
        .destructive(true)
        .idempotent(false)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Whether to write changes to the archive before closing.
    sync: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct Closed {
    closed: bool,
    synced: bool,
    /// Files whose changes were thrown away.
    discarded_changes: u64,
}

fn close(arguments: Arguments) -> Result<Closed, Error> {
    let closed = sessions::close(arguments.sync)?;
    Ok(Closed { closed: true, synced: closed.synced, discarded_changes: closed.discarded_changes })
}
