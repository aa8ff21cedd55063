//! `zipfs_sessions`: what is open.

use schemars::JsonSchema;
use serde::Serialize;
use zipfs_sdk::{Error, NoArguments, Tool, sessions};

const DESCRIPTION: &str = "\
Lists the open sessions, oldest first. Use it when a call failed with AMBIGUOUS_SESSION or SESSION_NOT_FOUND, or to pick up work \
begun earlier. Returns sessions[] with id, name, source_path, state, created_at, last_accessed_at, last_synced_at, file_count \
and extracted_size_bytes. Give a name or id as `session` to the other tools.";

pub fn tool() -> Tool {
    Tool::new("zipfs_sessions", DESCRIPTION, list).title("List sessions").uses("sessions").idempotent(true)
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    sessions: Vec<Session>,
}

#[derive(Serialize, JsonSchema)]
struct Session {
    /// UUID.
    id: String,
    /// Empty if none was given.
    name: String,
    /// The archive on the host.
    source_path: String,
    /// 'open', or 'syncing' while the archive is being written.
    state: String,
    created_at: String,
    last_accessed_at: String,
    /// Null if it never was.
    last_synced_at: Option<String>,
    file_count: u64,
    extracted_size_bytes: u64,
}

fn list(_: NoArguments) -> Result<Listed, Error> {
    Ok(Listed { sessions: sessions::list()?.into_iter().map(Session::from).collect() })
}

impl From<sessions::Info> for Session {
    fn from(info: sessions::Info) -> Session {
        Session {
            id: info.id,
            name: info.name,
            source_path: info.source_path,
            state: info.state,
            created_at: info.created_at,
            last_accessed_at: info.last_accessed_at,
            last_synced_at: info.last_synced_at,
            file_count: info.file_count,
            extracted_size_bytes: info.extracted_size_bytes,
        }
    }
}
