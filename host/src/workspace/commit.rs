//! The durable step of a sync: a complete, verified stage becomes the archive.
//!
//! At every instant the source's name leads to the old archive or the new one, whole. The order is what makes it so: the stage
//! is on disk before anything refers to it; the metadata says what the new archive is before the name changes; the old archive
//! has its second name before the first one is taken over; and the directory is on disk before success is reported. Backups
//! rotate last: a sync that does not happen costs no old version.
//!
//! Each wait for the disk costs about as much as copying ten megabytes. So there is one for the stage, one for all that recovery has
//! to know and one for its names, one for the names beside the source, and one for the metadata at the end.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::baseline::{Baseline, Recorded, Stat};
use super::durable::{expect_at, flush_directory, write_together};
use super::identity::Identity;
use super::listing::{Entry, Kind, Listing};
use super::metadata::{LeftOver, Staged, State, now};
use super::open::open_source_ambient;
use super::status::Found;
use super::store::{Workspace, Workspaces};
use super::sync::{Stage, Syncing, conflict, failed};
use super::{backups, layout};
use crate::failure::Failure;

/// The baseline that will hold once the new archive is in place.
const NEXT_BASELINE: &str = "baseline.next";

/// What was committed.
pub struct Committed {
    pub backup_path: Option<PathBuf>,
    pub size: u64,
}

/// Puts the stage, which is verified and on disk, in the source's place. Blocks.
pub fn commit_staged(
    workspaces: &Workspaces,
    workspace: &mut Workspace,
    syncing: &Syncing,
    stage: &Stage,
    hash: Option<(String, u64)>,
    listing: Listing,
) -> Result<Committed, Failure> {
    let fail = |what: &str, error: io::Error| failed(&syncing.source_path, &format!("{what}: {error}"));
    let durability = workspace.durability;
    let metadata = stage.file.metadata().map_err(|error| fail("the new archive cannot be read back", error))?;
    let identity = Identity::of(&metadata);
    if hash.as_ref().is_some_and(|(_, hashed)| *hashed != identity.size) {
        return Err(fail("the new archive is not as it was written", io::ErrorKind::UnexpectedEof.into()));
    }
    let hash = hash.map(|(hash, _)| hash);

    let files = listing.entries.iter().filter(|entry| entry.kind == Kind::File);
    let (file_count, extracted_size_bytes) = files.fold((0, 0), |(count, sum), entry| (count + 1, sum + entry.size));
    let staged = Staged { hash, identity, file_count, extracted_size_bytes };
    let waiting = (syncing.backup_depth > 0).then(|| syncing.waiting_name.clone());
    workspace.metadata.state = State::Syncing;
    workspace.metadata.pending = Some(syncing.pending(Some(staged.clone()), waiting.clone()));
    write_down(workspaces, workspace, syncing, listing)?;

    check_still_ours(syncing)?;
    let dir = &syncing.source_dir;
    if let Some(waiting) = &waiting {
        backups::set_aside(dir, &syncing.source_name, &syncing.source, waiting, durability)
            .map_err(|error| fail("the backup cannot be made", error))?;
    }
    syncing.name_stage(stage).map_err(|error| fail("the new archive cannot be put in place", error))?;
    swap_in(syncing, workspace, &identity)?;
    let backup = put_backup_in_place(workspaces, workspace, syncing, waiting)?;
    flush_directory(dir, durability).map_err(|error| {
        Failure::internal(format!("{} is new, but may not be on disk yet: {error}.", syncing.source_path.display()))
    })?;

    // From here on a power cut costs nothing but a note that the sync was interrupted: recovery finds it done.
    adopt_next_baseline(workspace)?;
    finish(workspace, staged);
    workspace
        .metadata
        .store_soon(&workspace.dir, durability)
        .map_err(|error| Failure::internal(format!("The session's metadata cannot be written: {error}.")))?;
    let backup_path = backup.map(|name| syncing.source_path.with_file_name(name));
    Ok(Committed { backup_path, size: identity.size })
}

/// Puts on disk, before any name changes, what recovery has to know: what the new archive is, its baseline, and which backups are
/// ours.
fn write_down(workspaces: &Workspaces, workspace: &Workspace, syncing: &Syncing, listing: Listing) -> Result<(), Failure> {
    let write = || {
        let baseline = next_baseline(syncing, listing).to_bytes()?;
        let metadata = workspace.metadata.to_bytes()?;
        let depth = syncing.backup_depth as usize;
        let plan = match depth {
            0 => None,
            _ => {
                let (source, dir) = (&syncing.source_path, &syncing.source_dir);
                Some(backups::plan(workspaces.root(), source, dir, &syncing.identity, depth)?)
            }
        };
        // The metadata comes last: it says that the others hold.
        let mut files: Vec<(&Dir, &str, &[u8])> = plan.as_ref().and_then(backups::Plan::list).into_iter().collect();
        files.push((&workspace.dir, NEXT_BASELINE, &baseline));
        files.push((&workspace.dir, layout::METADATA, &metadata));
        write_together(&files, workspace.durability)
    };
    write().map_err(|error| failed(&syncing.source_path, &format!("the session cannot be written: {error}")))
}

/// What the metadata says after a sync. `staged` is the archive as it was before it got its name.
pub fn finish(workspace: &mut Workspace, staged: Staged) {
    let metadata = &mut workspace.metadata;
    metadata.source_seen = open_source_ambient(&metadata.source_path)
        .ok()
        .and_then(|source| Some(Identity::of(&source.metadata().ok()?)))
        .filter(|now| now.is_same_file(&staged.identity));
    if let Some(seen) = &metadata.source_seen {
        seen.settle();
    }
    metadata.zip_hash_sha256 = staged.hash;
    (metadata.file_count, metadata.extracted_size_bytes) = (staged.file_count, staged.extracted_size_bytes);
    metadata.last_synced_at = Some(now());
    metadata.pending = None;
    metadata.state = State::Open;
}

/// Makes the next baseline the one that counts. It may have been done before the crash that brings us here again.
pub fn adopt_next_baseline(workspace: &Workspace) -> Result<(), Failure> {
    match workspace.dir.rename(NEXT_BASELINE, &workspace.dir, layout::BASELINE) {
        // With the old baseline the new archive would be packed wrongly, so a rename that only claims to be done ends it here.
        Ok(()) if workspace.dir.symlink_metadata(NEXT_BASELINE).is_ok() => {
            Err(Failure::internal("The session's baseline cannot be put in place."))
        }
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::internal(format!("The session's baseline cannot be written: {error}."))),
    }
}

/// Forgets the next baseline of a sync that did not happen.
pub fn drop_next_baseline(workspace: &Workspace) {
    let _ = workspace.dir.remove_file(NEXT_BASELINE);
}

/// The new archive's entries, with the stats that were taken before the driver read the files: a file that changed meanwhile
/// differs from its stat and will be looked at again.
///
/// Each was compared after the clock was read: by a stat that was settled long before, or by its contents. So all are as settled
/// as at that time.
fn next_baseline(syncing: &Syncing, listing: Listing) -> Baseline {
    let (entries, changes) = (&syncing.baseline.entries, &syncing.changes);
    let reread = changes.reread.iter().map(|(index, stat)| (entries[*index as usize].entry.path.as_str(), *stat));
    let changed = changes.modified.iter().map(|(_, found)| found).chain(&changes.added);
    let changed = changed.map(|found: &Found| (found.path.as_str(), found.stat));
    let stats: HashMap<&str, Stat> = reread.chain(changed).collect();
    // What stays is in the order in which it was.
    let mut before = entries.iter();
    let mut stat_of = |entry: &Entry| match stats.get(entry.path.as_str()) {
        Some(stat) => Some(*stat),
        None => before.find(|known| known.entry.path == entry.path)?.stat,
    };
    let recorded = listing.entries.into_iter().map(|entry| Recorded { stat: stat_of(&entry), entry }).collect();
    Baseline::new(recorded, changes.directories.clone(), syncing.compared)
}

/// The file under the source's name must be the one whose hash we know, and nobody may have written into it since.
fn check_still_ours(syncing: &Syncing) -> Result<(), Failure> {
    let there = open_source_ambient(&syncing.source_path)?;
    let there = there.metadata().map_err(|error| failed(&syncing.source_path, &error.to_string()))?;
    if Identity::of(&there) == syncing.identity {
        return Ok(());
    }
    Err(conflict(&syncing.source_path, "was changed while it was being synced").suggest("Sync again."))
}

/// Gives the stage the source's name. Where the kernel can exchange two names, what was under it is looked at once more
/// afterwards: an archive that somebody put there between our last look and the exchange goes back, instead of being lost.
fn swap_in(syncing: &Syncing, workspace: &mut Workspace, staged: &Identity) -> Result<(), Failure> {
    let (dir, stage, source) = (&syncing.source_dir, syncing.stage_name.as_str(), syncing.source_name.as_str());
    let fail = |error: io::Error| failed(&syncing.source_path, &format!("the new archive cannot be put in place: {error}"));
    match exchange(syncing) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            dir.rename(stage, dir, source).map_err(fail)?;
            return expect_at(dir, source, staged.inode).map_err(fail);
        }
        Err(error) => return Err(fail(error.into())),
    }
    let was = Identity::at(dir, stage).map_err(fail)?;
    if was.is_same_file(staged) {
        return Err(fail(io::Error::other("the filesystem reported success and did nothing")));
    }
    if !was.is_same_file(&syncing.identity) {
        put_back(syncing, staged).map_err(fail)?;
        return Err(conflict(&syncing.source_path, "was changed while it was being synced").suggest("Sync again."));
    }
    // It has its second name as a backup, or none is wanted.
    if dir.remove_file(stage).is_err() {
        workspace.metadata.left_over.push(LeftOver::Stage(stage.to_owned()));
    }
    Ok(())
}

/// Takes the exchange back. If meanwhile somebody replaced our archive in turn, theirs is the newest and stays.
fn put_back(syncing: &Syncing, staged: &Identity) -> io::Result<()> {
    exchange(syncing)?;
    if !Identity::at(&syncing.source_dir, &syncing.stage_name)?.is_same_file(staged) {
        exchange(syncing)?;
    }
    Ok(())
}

fn exchange(syncing: &Syncing) -> rustix::io::Result<()> {
    let dir = &syncing.source_dir;
    rustix::fs::renameat_with(dir, &syncing.stage_name, dir, &syncing.source_name, RenameFlags::EXCHANGE)
}

/// A backup that cannot be put in its place does not undo the sync: it is whole, under the name that is reported, and the next
/// sync tries again.
fn put_backup_in_place(
    workspaces: &Workspaces,
    workspace: &mut Workspace,
    syncing: &Syncing,
    waiting: Option<String>,
) -> Result<Option<String>, Failure> {
    let Some(waiting) = waiting else { return Ok(None) };
    let depth = syncing.backup_depth as usize;
    let rotated =
        backups::rotate(workspaces.root(), &syncing.source_path, &syncing.source_dir, &waiting, depth, workspace.durability);
    rotated.or_else(|error| {
        tracing::warn!(%error, "the backup is kept under a temporary name until the next sync");
        workspace.metadata.left_over.push(LeftOver::Backup(waiting.clone()));
        Ok(Some(waiting))
    })
}
