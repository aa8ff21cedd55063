//! What a call did to the files it named: looked at before and after, by handle.

use cap_std::fs::{Dir, MetadataExt};
use serde_json::{Value, json};

/// Of a call that names more, only this many are looked at: a line of the audit log has a bound.
pub const MOST: usize = 16;

/// The named files as they were before the call.
pub struct Before {
    dir: Dir,
    files: Vec<(String, Seen)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Nothing,
    File { size: u64, inode: u64, changed: (i64, i64) },
    Directory,
    Other,
}

impl Before {
    pub fn look(dir: &Dir, paths: &[String]) -> Option<Before> {
        let dir = (!paths.is_empty()).then(|| dir.try_clone().ok())??;
        let files = paths.iter().take(MOST).map(|path| (path.clone(), look(&dir, path))).collect();
        Some(Before { dir, files })
    }

    /// What changed. `shown` is how a path is written.
    pub fn changes(self, shown: impl Fn(&str) -> String) -> Vec<Value> {
        let mut changes = Vec::new();
        for (path, before) in self.files {
            let after = look(&self.dir, &path);
            if after != before {
                changes.push(json!({"path": shown(&path), "before": before.size(), "after": after.size()}));
            }
        }
        changes
    }
}

impl Seen {
    /// Bytes of a file; what it is, for anything else.
    fn size(self) -> Value {
        match self {
            Seen::Nothing => Value::Null,
            Seen::File { size, .. } => size.into(),
            Seen::Directory => "directory".into(),
            Seen::Other => "other".into(),
        }
    }
}

fn look(dir: &Dir, path: &str) -> Seen {
    match dir.symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            Seen::File { size: found.len(), inode: found.ino(), changed: (found.mtime(), found.mtime_nsec()) }
        }
        Ok(found) if found.is_dir() => Seen::Directory,
        Ok(_) => Seen::Other,
        Err(_) => Seen::Nothing,
    }
}
