//! Errors about files, in the words of this plugin. Each says what to do next.

use zipfs_sdk::fs::IoError;
use zipfs_sdk::path::WorkspacePath;
use zipfs_sdk::{Class, Error};

/// A path as agents see it here: from the root on.
pub fn shown(path: &WorkspacePath) -> String {
    if path.is_root() { "/".to_owned() } else { format!("/{path}") }
}

/// There is nothing at `path`.
pub fn not_found(path: &WorkspacePath) -> Error {
    let shown = shown(path);
    let parent = path.parent().map_or_else(|| "/".to_owned(), |parent| self::shown(&parent));
    Error::not_found("FILE_NOT_FOUND", format!("There is no {shown}."))
        .suggest(format!("See what there is: read the resource list://{parent}"))
}

/// The file is not the one whose hash was given. Which one it is now is not said: the agent has to look at what it would destroy.
pub fn stale(path: &WorkspacePath) -> Error {
    let shown = shown(path);
    Error::conflict("STALE_HASH", format!("Stale hash for {shown}: the file changed since your read."))
        .suggest("Call text.read again and retry with the new hash.")
}

pub fn exists(path: &WorkspacePath) -> Error {
    let shown = shown(path);
    Error::conflict("FILE_EXISTS", format!("{shown} exists already."))
        .suggest("To change it, read it with text.read and use text.replace, text.insert or text.append with its hash.")
}

pub fn is_directory(path: &WorkspacePath) -> Error {
    let shown = shown(path);
    Error::invalid("NOT_A_FILE", format!("{shown} is a directory.")).suggest(format!("List it: read the resource list://{shown}"))
}

/// A link would make one file answer to two paths, of which the caller may be allowed only one.
pub fn is_link(path: &WorkspacePath) -> Error {
    Error::invalid("NOT_A_FILE", format!("{} is a link.", shown(path))).suggest("Use the path of the file that it leads to.")
}

/// What went wrong with a file while it was looked at, read or written.
pub fn of_io(error: IoError, path: &WorkspacePath) -> Error {
    match error {
        IoError::NotFound | IoError::NotDir => not_found(path),
        IoError::IsDir => is_directory(path),
        IoError::Exists => exists(path),
        other => other.at(shown(path)),
    }
}

/// What the host refused when a file was to be changed: that it changed meanwhile is the same as a stale hash.
pub fn of_change(error: Error, path: &WorkspacePath) -> Error {
    match error.class() {
        Class::Conflict => stale(path),
        Class::NotFound => not_found(path),
        _ => error,
    }
}
