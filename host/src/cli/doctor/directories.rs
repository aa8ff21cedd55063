//! Whether the directories are ours alone: code is run from the cache, and sessions hold what others must not read.

use std::path::Path;

use serde_json::{Value, json};

use super::{Problems, problem};
use crate::config::{DataDir, WRITABLE_BY_OTHERS, check_private};

/// The bits with which others could also look into it.
pub const OPEN_TO_OTHERS: u32 = 0o077;

pub fn examine(data: &DataDir, problems: &mut Problems) -> Value {
    let root = data.root();
    let exists = root.exists();
    let is_writable = match exists {
        true => can_write(root),
        false => root.ancestors().find(|above| above.exists()).is_some_and(can_write),
    };
    if exists && !root.is_dir() {
        problems.push(problem(format!("{} is not a directory.", root.display()), "Set ZIPFS_DATA_DIR to another place."));
    } else if !is_writable {
        let what = format!("The data directory {} cannot be written.", root.display());
        problems.push(problem(what, "Correct its owner and mode, or set ZIPFS_DATA_DIR to a directory of yours."));
    }
    check(root, WRITABLE_BY_OTHERS, problems);
    check(&data.config_file(), WRITABLE_BY_OTHERS, problems);
    check(&data.plugins(), WRITABLE_BY_OTHERS, problems);
    check(&data.workspaces(), OPEN_TO_OTHERS, problems);
    json!({"path": root, "from": DataDir::variable(), "exists": exists, "writable": is_writable})
}

pub fn examine_cache(cache: &Path, problems: &mut Problems) -> Value {
    check(cache, WRITABLE_BY_OTHERS, problems);
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(cache).into_iter().flatten().flatten() {
        check(&entry.path(), WRITABLE_BY_OTHERS, problems);
        files += 1;
        bytes += entry.metadata().map_or(0, |found| found.len());
    }
    json!({"path": cache, "files": files, "bytes": bytes})
}

/// Complains of what others could read or change.
pub fn check(path: &Path, forbidden: u32, problems: &mut Problems) {
    if let Err(failure) = check_private(path, forbidden) {
        problems.push(failure.into());
    }
}

/// Tried, not guessed: a mode says nothing of a mount that is read-only or a disk that is full.
fn can_write(directory: &Path) -> bool {
    directory.is_dir() && tempfile::tempfile_in(directory).is_ok()
}
