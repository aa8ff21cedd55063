//! Putting right what a crash left behind: half-made and half-removed workspaces, interrupted syncs, accounts that are off.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, RenameFlags};
use rustix::io::retry_on_intr;

use super::durable::flush_directory;
use super::identity::Identity;
use super::lock::{Lock, Mode};
use super::metadata::{LeftOver, Pending, Staged, State};
use super::open::open_source_ambient;
use super::quota::{Ledger, Usage, count};
use super::store::{Workspace, Workspaces};
use super::{backups, commit, copy, layout};
use crate::failure::Failure;

/// Removes hidden workspaces that nobody holds, and says how many of them were on their way to become sessions. Their owners keep
/// them locked while they live. The caller is [`Publishing`], so none is between being made and being locked.
pub fn sweep(root: &Dir) -> usize {
    let mut half_made = 0;
    for entry in root.entries().into_iter().flatten().flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned).filter(|name| is_hidden(name)) else { continue };
        let Ok(dir) = entry.open_dir() else { continue };
        if let Ok(Some(_lock)) = Lock::try_acquire(&dir, Mode::Exclusive)
            && root.remove_dir_all(&name).is_ok()
        {
            tracing::info!(directory = name, "removed a workspace that an interrupted operation left behind");
            half_made += usize::from(name.starts_with(".opening-"));
        }
    }
    half_made
}

/// Whether a directory is a workspace on its way in or out.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(".opening-") || name.starts_with(".closing-")
}

/// Held while a session begins or is made visible, so that two processes cannot both take the last free place, and neither takes
/// the other's fresh directory for a left-over.
pub struct Publishing(File);

impl Publishing {
    /// Waits until nobody else does.
    pub fn begin(root: &Dir) -> io::Result<Publishing> {
        let file = Publishing::open(root)?;
        retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
        Ok(Publishing(file))
    }

    /// Only if nobody does now.
    pub fn try_begin(root: &Dir) -> Option<Publishing> {
        let file = Publishing::open(root).ok()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Publishing(file))
    }

    fn open(root: &Dir) -> io::Result<File> {
        Ok(root.open_with(".publish", OpenOptions::new().write(true).create(true).mode(0o600))?.into_std())
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// Counts what all sessions use, those on their way included.
pub fn recount_total(root: &Dir, total: &Ledger) -> io::Result<()> {
    let mut counted = Usage::default();
    for entry in root.entries()? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let is_opening = name.starts_with(".opening-");
        if !is_opening && name.starts_with('.') {
            continue;
        }
        let Ok(dir) = entry.open_dir() else { continue };
        let Ok(original) = dir.metadata(layout::ORIGINAL) else { continue };
        let used = match is_opening {
            true => dir.open_dir(layout::CONTENTS).and_then(|contents| count(&contents)).unwrap_or_default(),
            false => Ledger::open(&dir, layout::USAGE, u64::MAX, u64::MAX)?.used()?,
        };
        counted.bytes += used.bytes + original.len();
        counted.files += used.files + 1;
    }
    total.correct(counted)?;
    Ok(())
}

/// Ends a sync that was cut off: forward if the new archive is in place, back otherwise. Says which, if there was one. Needs the
/// exclusive lock.
pub fn finish_interrupted_sync(workspaces: &Workspaces, workspace: &mut Workspace) -> Result<Option<Ended>, Failure> {
    let Some(pending) = workspace.metadata.pending.clone() else { return Ok(None) };
    let source = workspace.metadata.source_path.clone();
    let name = source.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(dir) = parent_of(&source)? else {
        // The whole directory is gone: nothing of ours is left there, and nothing can be done.
        return end(workspace, Ended::Back);
    };
    take_back_exchange(&dir, name, &pending);
    let there = match Identity::at(&dir, name) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(cannot_tell(&source, &error)),
    };
    let staged = match (&pending.staged, &there) {
        (Some(staged), Some(there)) if is_in_place(&source, staged, there)? => Some(staged.clone()),
        _ => None,
    };
    match staged {
        Some(staged) => {
            remove_ours(&dir, &pending.stage, &pending, workspace);
            if let Some(waiting) = &pending.backup {
                keep_backup(workspaces, workspace, &dir, waiting);
            }
            on_disk(&dir, &source, workspace)?;
            commit::adopt_next_baseline(workspace)?;
            commit::finish(workspace, staged);
            end(workspace, Ended::Forward)
        }
        None => {
            if let (Some(waiting), None) = (&pending.backup, &there) {
                // Not by us, but the name is free, and here is what was under it.
                let _ = rustix::fs::renameat_with(&dir, waiting, &dir, name, RenameFlags::NOREPLACE);
            }
            remove_ours(&dir, &pending.stage, &pending, workspace);
            if let Some(waiting) = &pending.backup {
                remove_ours(&dir, waiting, &pending, workspace);
            }
            on_disk(&dir, &source, workspace)?;
            commit::drop_next_baseline(workspace);
            end(workspace, Ended::Back)
        }
    }
}

/// The names that were put right must not be wrong again after a power cut, when the metadata says that all is well.
fn on_disk(dir: &Dir, source: &Path, workspace: &Workspace) -> Result<(), Failure> {
    flush_directory(dir, workspace.durability).map_err(|error| cannot_tell(source, &error))
}

/// How an interrupted sync ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Forward,
    Back,
}

impl Ended {
    /// For whoever uses the session next.
    pub fn tell(self) -> &'static str {
        match self {
            Ended::Forward => {
                "The last sync of this session was interrupted when the new archive was already in place; it is complete now."
            }
            Ended::Back => {
                "The last sync of this session was interrupted before the archive was replaced: the archive is as it was, and the changes are still in the workspace. Sync again."
            }
        }
    }
}

fn end(workspace: &mut Workspace, ended: Ended) -> Result<Option<Ended>, Failure> {
    workspace.metadata.pending = None;
    workspace.metadata.state = State::Open;
    workspace.store_metadata()?;
    Ok(Some(ended))
}

/// The directory of the source, if it is there.
fn parent_of(source: &Path) -> Result<Option<Dir>, Failure> {
    let Some(parent) = source.parent() else { return Ok(None) };
    match Dir::open_ambient_dir(parent, ambient_authority()) {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(cannot_tell(source, &error)),
    }
}

/// A guess here would take a finished sync for an unfinished one, and the next sync for a conflict.
fn cannot_tell(source: &Path, error: &io::Error) -> Failure {
    let message = format!("The last sync was interrupted, and {} cannot be looked at: {error}.", source.display());
    Failure::internal(message).suggest("Try again when it can.")
}

/// By what `stat` says; where file numbers do not last, by the contents.
fn is_in_place(source: &Path, staged: &Staged, there: &Identity) -> Result<bool, Failure> {
    if there.is_same_file(&staged.identity) || there.size != staged.identity.size {
        return Ok(there.is_same_file(&staged.identity));
    }
    // Without a hash it is on a filesystem that keeps its numbers.
    let (Some(staged), Ok(file)) = (&staged.hash, open_source_ambient(source)) else { return Ok(false) };
    copy::hash(&file).map(|hash| hash == *staged).map_err(|error| cannot_tell(source, &error))
}

/// A crash between the exchange of the names and the look at what was there may have left somebody else's archive under the
/// stage's name, and ours in its place.
fn take_back_exchange(dir: &Dir, name: &str, pending: &Pending) {
    let Some(staged) = &pending.staged else { return };
    let (Ok(there), Ok(aside)) = (Identity::at(dir, name), Identity::at(dir, &pending.stage)) else { return };
    if there.is_same_file(&staged.identity) && !aside.is_same_file(&pending.base) {
        let _ = rustix::fs::renameat_with(dir, &pending.stage, dir, name, RenameFlags::EXCHANGE);
    }
}

/// Removes a file that the sync made, or the second name of the old archive. What somebody else put there stays.
fn remove_ours(dir: &Dir, name: &str, pending: &Pending, workspace: &mut Workspace) {
    let Ok(there) = Identity::at(dir, name) else { return };
    let is_ours = match &pending.staged {
        None => true,
        Some(staged) => {
            there.is_same_file(&staged.identity) || there.is_same_file(&pending.base) || pending.backup.as_deref() == Some(name)
        }
    };
    if is_ours && dir.remove_file(name).is_err() {
        workspace.metadata.left_over.push(LeftOver::Stage(name.to_owned()));
    }
}

fn keep_backup(workspaces: &Workspaces, workspace: &mut Workspace, dir: &Dir, waiting: &str) {
    let depth = workspaces.settings().defaults.backup_rotation_depth as usize;
    let source = &workspace.metadata.source_path;
    if let Err(error) = backups::rotate(workspaces.root(), source, dir, waiting, depth.max(1), workspace.durability) {
        tracing::warn!(%error, "the backup is kept under a temporary name until the next sync");
        workspace.metadata.left_over.push(LeftOver::Backup(waiting.to_owned()));
    }
}

/// Deals with what could not be dealt with before. What still cannot be stays noted.
pub fn clear_left_over(workspaces: &Workspaces, workspace: &mut Workspace, dir: &Dir) {
    let left = std::mem::take(&mut workspace.metadata.left_over);
    if left.is_empty() {
        return;
    }
    for item in left {
        match &item {
            LeftOver::Stage(name) => match dir.remove_file(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => workspace.metadata.left_over.push(item),
                _ => {}
            },
            LeftOver::Backup(waiting) => keep_backup(workspaces, workspace, dir, waiting),
        }
    }
    let _ = workspace.store_metadata();
}
