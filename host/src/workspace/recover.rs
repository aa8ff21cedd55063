//! Putting right what a crash left behind: half-made and half-removed workspaces, interrupted syncs, accounts that are off.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::FlockOperation;

use super::lock::{Lock, Mode};
use super::metadata::State;
use super::open::open_source_ambient;
use super::quota::{Ledger, Usage, count};
use super::store::{Workspace, Workspaces};
use super::{commit, copy, layout};
use crate::failure::Failure;

/// Removes hidden workspaces that nobody holds. Their owners keep them locked while they live. The caller holds the gate of
/// [`publishing`], so none is between being made and being locked.
pub fn sweep(workspaces: &Workspaces) {
    let Ok(entries) = workspaces.root().entries() else { return };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if !(name.starts_with(".opening-") || name.starts_with(".closing-")) {
            continue;
        }
        let Ok(dir) = entry.open_dir() else { continue };
        if let Ok(Some(_lock)) = Lock::try_acquire(&dir, Mode::Exclusive) {
            let _ = workspaces.root().remove_dir_all(&name);
            tracing::info!(directory = name, "removed a workspace that an interrupted operation left behind");
        }
    }
}

/// Held while a session begins or is made visible, so that two processes cannot both take the last free place, and neither takes
/// the other's fresh directory for a left-over.
pub fn publishing(root: &Dir) -> io::Result<impl Drop + use<>> {
    struct Gate(File);
    impl Drop for Gate {
        fn drop(&mut self) {
            let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
        }
    }
    let file = root.open_with(".publish", OpenOptions::new().write(true).create(true).mode(0o600))?.into_std();
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(Gate(file))
}

/// Counts what all sessions use, those on their way included.
pub fn recount_total(workspaces: &Workspaces, total: &Ledger) -> io::Result<()> {
    let mut counted = Usage::default();
    for entry in workspaces.root().entries()? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(".opening-"))
            && let Ok(dir) = entry.open_dir()
        {
            let used = dir.open_dir(layout::CONTENTS).and_then(|contents| count(&contents)).unwrap_or_default();
            counted.bytes += used.bytes + dir.metadata(layout::ORIGINAL).map_or(0, |original| original.len());
            counted.files += used.files + 1;
        }
    }
    for known in workspaces.known().map_err(io::Error::other)?.iter() {
        let Ok(dir) = workspaces.root().open_dir(&known.directory) else { continue };
        let used = Ledger::open(&dir, layout::USAGE, u64::MAX, u64::MAX)?.used()?;
        counted.bytes += used.bytes + dir.metadata(layout::ORIGINAL).map_or(0, |original| original.len());
        counted.files += used.files + 1;
    }
    total.correct(counted)?;
    Ok(())
}

/// Ends a sync that was cut off: forward if the new archive is in place, back otherwise. Needs the exclusive lock.
pub fn finish_interrupted_sync(workspace: &mut Workspace) -> Result<(), Failure> {
    let Some(pending) = workspace.metadata.pending.take() else { return Ok(()) };
    let source = workspace.metadata.source_path.clone();
    let in_place = pending.hash.filter(|expected| current_hash(&source).as_ref() == Some(expected));
    match in_place {
        Some(hash) => {
            commit::adopt_next_baseline(workspace)?;
            workspace.metadata.zip_hash_sha256 = hash;
            workspace.metadata.last_synced_at = Some(super::metadata::now());
        }
        None => {
            let directory = source.parent().map(|parent| Dir::open_ambient_dir(parent, ambient_authority()));
            if let Some(Ok(directory)) = directory {
                let _ = directory.remove_file(&pending.stage);
            }
        }
    }
    workspace.metadata.state = State::Open;
    workspace.store_metadata()?;
    tracing::warn!(session = workspace.metadata.id, "ended a sync that had been interrupted");
    Ok(())
}

fn current_hash(source: &Path) -> Option<String> {
    copy::hash(&open_source_ambient(source).ok()?).ok()
}
