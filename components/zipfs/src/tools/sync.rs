//! `zipfs_sync`: the changes go back into the archive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{Error, Role, Tool, sessions};

const DESCRIPTION: &str = "\
Writes the session's changes back to the archive, which is replaced in one step; the old one is kept as backup_path. Use it when \
the changes are complete; the session stays open. Returns synced, backup_path, files_modified, files_added and files_deleted. \
With dry_run=true nothing is written, and the lists modified, added, deleted and estimated_size_bytes come back too. \
CONFLICT_DETECTED: the archive was changed by somebody else since it was opened; force=true overwrites their version, which then \
becomes the backup, so ask the person first.";

pub fn tool() -> Tool {
    Tool::new("zipfs_sync", DESCRIPTION, sync)
        .title("Write changes to archive")
        .role(Role::Operator)
        .reads()
        .uses("sessions")
        .destructive(true)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Overwrite the archive even if somebody else changed it.
    #[serde(default)]
    force: bool,
    /// Only say what would be written.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
struct Synced {
    /// False for a dry run.
    synced: bool,
    /// The archive as it was before; empty if nothing had to be written.
    backup_path: String,
    files_modified: usize,
    files_added: usize,
    files_deleted: usize,
    #[serde(flatten)]
    plan: Option<Plan>,
}

/// What only a dry run tells.
#[derive(Serialize, JsonSchema)]
struct Plan {
    modified: Vec<String>,
    added: Vec<String>,
    deleted: Vec<String>,
    estimated_size_bytes: u64,
}

fn sync(arguments: Arguments) -> Result<Synced, Error> {
    let synced = sessions::sync(arguments.force, arguments.dry_run)?;
    Ok(report(synced, arguments.dry_run))
}

/// A sync that found nothing to write has still brought workspace and archive together, so it counts as synced.
fn report(synced: sessions::Synced, dry_run: bool) -> Synced {
    let changes = synced.changes;
    Synced {
        synced: !dry_run,
        backup_path: synced.backup_path,
        files_modified: changes.modified.len(),
        files_added: changes.added.len(),
        files_deleted: changes.deleted.len(),
        plan: dry_run.then_some(Plan {
            modified: changes.modified,
            added: changes.added,
            deleted: changes.deleted,
            estimated_size_bytes: synced.size_bytes,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn synced(backup_path: &str) -> sessions::Synced {
        let changes = sessions::Changes {
            modified: vec!["a".into(), "b".into()],
            added: vec![],
            deleted: vec!["c".into()],
            unchanged_count: 7,
        };
        sessions::Synced { changes, written: false, backup_path: backup_path.into(), size_bytes: 99 }
    }

    #[test]
    fn a_sync_reports_counts_and_a_dry_run_also_lists() {
        let done = serde_json::to_value(report(synced("/x/a.bak.zip"), false)).unwrap();
        assert_eq!(
            done,
            json!({"synced": true, "backup_path": "/x/a.bak.zip", "files_modified": 2, "files_added": 0, "files_deleted": 1})
        );
        let planned = serde_json::to_value(report(synced(""), true)).unwrap();
        assert_eq!(
            planned,
            json!({"synced": false, "backup_path": "", "files_modified": 2, "files_added": 0, "files_deleted": 1,
                "modified": ["a", "b"], "added": [], "deleted": ["c"], "estimated_size_bytes": 99})
        );
    }
}
