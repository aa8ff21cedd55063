//! `zipfs_path`: where other programs find the files.

use schemars::JsonSchema;
use serde::Serialize;
use zipfs_sdk::{Error, NoArguments, Tool, sessions};

const DESCRIPTION: &str = "\
Returns path: the directory on the host that holds the session's files. Use it to let another program (a compiler, a spreadsheet \
tool) work on them directly; zipfs_status and zipfs_sync see what it changed. For reading and writing single files use \
zipfs_read and zipfs_write.";

pub fn tool() -> Tool {
    Tool::new("zipfs_path", DESCRIPTION, path).title("Workspace path").reads().uses("sessions")
}

#[derive(Serialize, JsonSchema)]
struct Found {
    /// Absolute path of the workspace on the host.
    path: String,
}

fn path(_: NoArguments) -> Result<Found, Error> {
    Ok(Found { path: sessions::path()? })
}
