//! What is in the directory of sessions, and what a crash left there.

use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::{Value, json};

use super::directories::{OPEN_TO_OTHERS, check};
use super::{Problems, problem};
use crate::workspace::lock::Lock;
use crate::workspace::metadata::Metadata;
use crate::workspace::recover::is_hidden;

pub fn examine(workspaces: &Path, problems: &mut Problems) -> Value {
    let (mut open, mut bytes, mut in_use) = (0, 0, 0);
    for entry in std::fs::read_dir(workspaces).into_iter().flatten().flatten() {
        let path = entry.path();
        if !path.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_free = is_free(&path);
        in_use += u64::from(!is_free);
        if name.starts_with('.') {
            if is_free && is_hidden(&name) {
                let what = format!("{} was left behind by an open or close that was interrupted.", path.display());
                problems.push(problem(what, "The next zipfs open removes it."));
            }
            continue;
        }
        check(&path, OPEN_TO_OTHERS, problems);
        match Dir::open_ambient_dir(&path, ambient_authority()).and_then(|dir| Metadata::load(&dir)) {
            Ok(metadata) => {
                open += 1;
                bytes += metadata.extracted_size_bytes;
                examine_one(&name, &path, &metadata, is_free, problems);
            }
            Err(error) => {
                let what = format!("The session in {} is incomplete: its metadata cannot be read ({error}).", path.display());
                problems.push(problem(
                    what,
                    "Its files are in `contents`, the archive as it was opened is original.zip; save what you need and remove it.",
                ));
            }
        }
    }
    json!({"path": workspaces, "open": open, "in_use": in_use, "extracted_bytes": bytes})
}

fn examine_one(name: &str, path: &Path, metadata: &Metadata, is_free: bool, problems: &mut Problems) {
    if metadata.pending.is_some() && is_free {
        let what = format!("A sync of the session {name} was interrupted.");
        problems.push(problem(what, format!("Nothing is lost; the next command for it puts it right: zipfs status {name}")));
    }
    let source = &metadata.source_path;
    match std::fs::symlink_metadata(source) {
        Ok(found) if found.is_file() => {}
        Ok(_) => {
            let what = format!("{}, the archive of the session {name}, is no regular file any more.", source.display());
            problems.push(problem(what, "Put the archive back before the next sync."));
        }
        Err(error) => {
            let what = format!("{}, the archive of the session {name}, is missing: {error}.", source.display());
            let next = format!("Put it back, for example from {}, or close the session.", path.join("original.zip").display());
            problems.push(problem(what, next));
        }
    }
}

/// Whether nobody works on the session now.
fn is_free(path: &Path) -> bool {
    Dir::open_ambient_dir(path, ambient_authority()).is_ok_and(|dir| Lock::is_free(&dir))
}
