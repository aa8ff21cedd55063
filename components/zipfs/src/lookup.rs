//! What is at a path, looked at before anything is opened. Links are resolved here and nowhere else.

use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, Entry, IoError, Kind, Result as IoResult, Stat};
use zipfs_sdk::path::WorkspacePath;

/// The file or directory at `path`. A link counts as what it leads to; one that leads out is refused.
///
/// Pipes, sockets and devices do not exist for the tools: opening a pipe would block until somebody writes to it.
pub fn find(workspace: &Dir, path: &WorkspacePath) -> Result<Stat, Error> {
    let mut found = workspace.stat(path.as_str()).map_err(|error| missing(error).at(path))?;
    if found.kind == Kind::Symlink {
        found = workspace.stat_target(path.as_str()).map_err(|error| missing(error).at(path))?;
    }
    match found.kind {
        Kind::File | Kind::Dir => Ok(found),
        Kind::Symlink | Kind::Other => Err(IoError::NotFound.at(path)),
    }
}

/// What a directory holds, as the tools show it: files, directories and links, sorted by name. Pipes and devices are left out.
pub fn list(dir: &Dir) -> IoResult<Vec<Entry>> {
    let mut entries = dir.read_dir()?;
    entries.retain(|entry| entry.kind != Kind::Other);
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// For whoever only looks, a path that goes through a file is a path to nothing.
pub fn missing(error: IoError) -> IoError {
    if error == IoError::NotDir { IoError::NotFound } else { error }
}

/// A name below a directory that is itself named relative to some root; the root is the empty string.
pub fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
