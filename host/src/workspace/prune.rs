//! Removing sessions that nobody uses any more, and what interrupted work left behind.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;

use super::lock::{self, Lock, Mode};
use super::metadata::Metadata;
use super::owner::Owner;
use super::recover::{self, Publishing, is_hidden};
use super::store::{Known, Workspaces};
use super::walk::walk;
use super::{close, layout, sync};
use crate::failure::Failure;

/// Which sessions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    All,
    UnusedFor(Duration),
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Oldest access first.
    pub sessions: Vec<PrunedSession>,
    pub freed_bytes: u64,
    /// Directories without a session in them.
    pub remains: u64,
}

#[derive(Debug)]
pub struct PrunedSession {
    pub id: String,
    pub name: String,
    pub unused_for: Duration,
    pub discarded_changes: u64,
    /// Why it is still there.
    pub kept_because: Option<String>,
}

/// Removes the chosen sessions of an owner. One that is in use is left alone; for those the whole of `patience` is waited once. Blocks.
pub fn prune(workspaces: &Workspaces, owner: &Owner, choice: Choice, dry_run: bool, patience: Duration) -> Result<Pruned, Failure> {
    let (until, now) = (Instant::now() + patience, SystemTime::now());
    let mut pruned = Pruned::default();
    for known in workspaces.known()?.iter().filter(|known| *known.owner == *owner.id) {
        let Ok(dir) = workspaces.root().open_dir_nofollow(&known.directory) else { continue };
        let unused_for = unused_for(&dir, now);
        // Looked at before the lock is taken, and again after: in between somebody may have come back to the session.
        if !choice.includes(unused_for) {
            continue;
        }
        let Some(lock) = lock_until(&dir, dry_run, until) else {
            pruned.sessions.push(kept(known, unused_for, "it is in use"));
            continue;
        };
        if !choice.includes(self::unused_for(&dir, now)) {
            continue;
        }
        let freed = disk_use(&dir);
        match remove(workspaces, known, dir, lock, dry_run) {
            Ok(discarded_changes) => {
                pruned.freed_bytes += freed;
                let (id, name) = (known.id.clone(), known.name.clone());
                pruned.sessions.push(PrunedSession { id, name, unused_for, discarded_changes, kept_because: None });
            }
            Err(why) => pruned.sessions.push(kept(known, unused_for, &why)),
        }
    }
    pruned.sessions.sort_by(|a, b| (b.unused_for, &a.id).cmp(&(a.unused_for, &b.id)));
    // What was cut off belongs to nobody any more, and says something about others.
    if owner.is_local() {
        clear_remains(workspaces, dry_run, &mut pruned);
    }
    Ok(pruned)
}

impl Choice {
    fn includes(self, unused_for: Duration) -> bool {
        match self {
            Choice::All => true,
            Choice::UnusedFor(least) => unused_for >= least,
        }
    }
}

fn kept(known: &Known, unused_for: Duration, why: &str) -> PrunedSession {
    PrunedSession {
        id: known.id.clone(),
        name: known.name.clone(),
        unused_for,
        discarded_changes: 0,
        kept_because: Some(why.to_owned()),
    }
}

/// One moment for all, so that they can be put in order.
fn unused_for(dir: &Dir, now: SystemTime) -> Duration {
    // A session whose lock file is missing was never used.
    let last = lock::last_access(dir).or_else(|| Some(dir.dir_metadata().ok()?.modified().ok()?.into_std()));
    last.and_then(|last| now.duration_since(last).ok()).unwrap_or_default()
}

fn lock_until(dir: &Dir, dry_run: bool, until: Instant) -> Option<Lock> {
    let mode = if dry_run { Mode::Shared } else { Mode::Exclusive };
    loop {
        if let Ok(Some(lock)) = Lock::try_acquire(dir, mode) {
            return Some(lock);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends one session, and says how many changes went with it; or why it could not.
fn remove(workspaces: &Workspaces, known: &Known, dir: Dir, lock: Lock, dry_run: bool) -> Result<u64, String> {
    match Metadata::load(&dir) {
        Ok(metadata) if metadata.id == known.id => {}
        Ok(_) => return Err("another session has its place now".to_owned()),
        // Nobody can enter it any more, so there is nothing to put right before it goes.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return if dry_run { Ok(0) } else { remove_directory(workspaces, &known.directory).map(|()| 0) };
        }
        Err(error) => return Err(error.to_string()),
    }
    let mut workspace = workspaces.take(&known.directory, dir, lock).map_err(|error| error.to_string())?;
    if !dry_run {
        // The stage of a sync that was cut off is beside the archive; after this nobody would know of it.
        recover::finish_interrupted_sync(workspaces, &mut workspace).map_err(|failure| failure.message)?;
    }
    // What cannot be counted must not keep a session from being pruned.
    let discarded = sync::compare(&workspace).map_or(0, |(_, changes)| changes.count());
    if !dry_run {
        close::close(workspaces, workspace).map_err(|failure| failure.message)?;
    }
    Ok(discarded)
}

/// Opens and closes that were cut off leave hidden directories; a directory without metadata was never a session.
fn clear_remains(workspaces: &Workspaces, dry_run: bool, pruned: &mut Pruned) {
    let Ok(_gate) = Publishing::begin(workspaces.root()) else { return };
    let Ok(entries) = workspaces.root().entries() else { return };
    for entry in entries.flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Ok(dir) = workspaces.root().open_dir_nofollow(&name) else { continue };
        let nameless = !name.starts_with('.') && matches!(dir.try_exists(layout::METADATA), Ok(false));
        if !is_hidden(&name) && !nameless {
            continue;
        }
        let freed = disk_use(&dir);
        let goes = match dry_run {
            true => Lock::is_free(&dir),
            false => {
                let lock = Lock::try_acquire(&dir, Mode::Exclusive);
                matches!(lock, Ok(Some(_))) && remove_directory(workspaces, &name).is_ok()
            }
        };
        if goes {
            pruned.remains += 1;
            pruned.freed_bytes += freed;
        }
    }
}

fn remove_directory(workspaces: &Workspaces, name: &str) -> Result<(), String> {
    workspaces.root().remove_dir_all(name).map_err(|error| format!("it cannot be removed: {error}"))
}

/// What a directory and all below it hold of the disk.
fn disk_use(dir: &Dir) -> u64 {
    // A block is 512 bytes, whatever the filesystem's are.
    let walked = walk(dir, |seen| Some(seen.stat.st_blocks as u64 * 512));
    walked.map_or(0, |walked| walked.found.into_iter().sum())
}
