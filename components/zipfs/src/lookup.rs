//! What is at a path, looked at before anything is opened. Links are resolved here and nowhere else.

use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, Entry, IoError, Kind, Result as IoResult, Stat};
use zipfs_sdk::path::WorkspacePath;

/// The file or directory at `path`. A link counts as what it leads to; one that leads out is refused.
///
/// Pipes, sockets and devices do not exist for the tools: opening a pipe would block until somebody writes to it.
pub fn find(workspace: &Dir, path: &WorkspacePath) -> Result<Stat, Error> {
    let mut found = workspace.stat(path.as_str()).map_err(|error| not_there(error, path))?;
    if found.kind == Kind::Symlink {
        found = workspace.stat_target(path.as_str()).map_err(|error| not_there(error, path))?;
    }
    match found.kind {
        Kind::File | Kind::Dir => Ok(found),
        Kind::Symlink | Kind::Other => Err(not_there(IoError::NotFound, path)),
    }
}

/// The error of a tool that looked for something. For whoever only looks, a path that goes through a file is a path to nothing.
pub fn not_there(error: IoError, path: &WorkspacePath) -> Error {
    match error {
        IoError::NotFound | IoError::NotDir => IoError::NotFound.at(path).suggest("See what there is with zipfs_tree."),
        other => other.at(path),
    }
}

/// What a directory holds, as the tools show it: files, directories and links, sorted by name. Pipes and devices are left out.
pub fn list(dir: &Dir) -> IoResult<Vec<Entry>> {
    let mut entries = dir.read_dir()?;
    entries.retain(|entry| entry.kind != Kind::Other);
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// A name below a directory that is itself named relative to some root; the root is the empty string.
pub fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}
