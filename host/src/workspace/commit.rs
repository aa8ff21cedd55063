//! The durable step of a sync: a complete, verified stage becomes the archive.
//!
//! At every instant the source's name leads to the old archive or the new one, whole. The order is what makes it so: the stage
//! is on disk before anything refers to it; the metadata says what the new archive's hash will be before the name changes; the
//! old archive has its second name before the first one is taken over; and the directory is on disk before success is reported.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rustix::fs::{Gid, Mode, Uid};
use std::os::unix::fs::MetadataExt;

use super::baseline::{Baseline, Recorded};
use super::listing::Listing;
use super::metadata::{Pending, State, now, sync_directory};
use super::open::open_source_ambient;
use super::status::Found;
use super::store::{Workspace, Workspaces};
use super::sync::{Identity, Syncing, failed};
use super::{backups, copy, layout};
use crate::failure::{Class, Failure};

/// The baseline that will hold once the new archive is in place.
const NEXT_BASELINE: &str = "baseline.next";

/// What was committed.
pub struct Committed {
    pub backup_path: Option<PathBuf>,
    pub size: u64,
}

/// Puts the stage in the source's place. Blocks.
pub fn commit_staged(
    workspaces: &Workspaces,
    workspace: &mut Workspace,
    syncing: &Syncing,
    stage: &File,
    listing: Listing,
) -> Result<Committed, Failure> {
    let fail = |what: &str, error: io::Error| failed(&syncing.source_path, &format!("{what}: {error}"));
    keep_owner_and_mode(&syncing.source, stage).map_err(|error| fail("its mode cannot be kept", error))?;
    stage.sync_all().map_err(|error| fail("the new archive cannot be written", error))?;
    let hash = copy::hash(stage).map_err(|error| fail("the new archive cannot be read back", error))?;
    let size = stage.metadata().map_err(|error| fail("the new archive cannot be read back", error))?.len();

    next_baseline(syncing, listing)
        .store_as(&workspace.dir, NEXT_BASELINE)
        .map_err(|error| fail("the session cannot be written", error))?;
    workspace.metadata.pending = Some(Pending { stage: syncing.stage_name.clone(), hash: Some(hash.clone()) });
    workspace.store_metadata()?;

    check_still_ours(syncing)?;
    let dir = &syncing.source_dir;
    let backup = backups::keep(workspaces.root(), &syncing.source_path, dir, &syncing.source_name, syncing.backup_depth as usize)
        .map_err(|error| fail("the backup cannot be made", error))?;
    dir.rename(&syncing.stage_name, dir, &syncing.source_name)
        .map_err(|error| fail("the new archive cannot be put in place", error))?;
    sync_directory(dir).map_err(|error| {
        Failure::internal(format!("{} is new, but may not be on disk yet: {error}.", syncing.source_path.display()))
    })?;

    adopt_next_baseline(workspace)?;
    workspace.metadata.zip_hash_sha256 = hash;
    workspace.metadata.last_synced_at = Some(now());
    workspace.metadata.pending = None;
    workspace.metadata.state = State::Open;
    workspace.store_metadata()?;
    let backup_path = backup.map(|name| syncing.source_path.with_file_name(name));
    Ok(Committed { backup_path, size })
}

/// Makes the next baseline the one that counts. It may have been done before the crash that brings us here again.
pub fn adopt_next_baseline(workspace: &Workspace) -> Result<(), Failure> {
    match workspace.dir.rename(NEXT_BASELINE, &workspace.dir, layout::BASELINE) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::internal(format!("The session's baseline cannot be written: {error}."))),
    }
}

/// The new archive's entries, with the stats that were taken before the driver read the files: a file that changed meanwhile
/// differs from its stat and will be looked at again.
fn next_baseline(syncing: &Syncing, listing: Listing) -> Baseline {
    use std::collections::HashMap;
    let mut stats: HashMap<&str, _> =
        syncing.baseline.entries.iter().filter_map(|known| Some((known.entry.path.as_str(), known.stat?))).collect();
    let changed = syncing.changes.modified.iter().map(|(_, found)| found).chain(&syncing.changes.added);
    stats.extend(changed.map(|found: &Found| (found.path.as_str(), found.stat)));
    let recorded =
        listing.entries.into_iter().map(|entry| Recorded { stat: stats.get(entry.path.as_str()).copied(), entry }).collect();
    // The older of the two times: a stat from the old baseline is only as settled as it was then.
    let taken = if syncing.baseline.taken == 0 { 0 } else { syncing.baseline.taken.min(syncing.compared) };
    Baseline::new(recorded, taken)
}

/// The file under the source's name must be the one whose hash we checked, and nobody may have written into it since.
fn check_still_ours(syncing: &Syncing) -> Result<(), Failure> {
    let there = open_source_ambient(&syncing.source_path)?;
    let there = there.metadata().map_err(|error| failed(&syncing.source_path, &error.to_string()))?;
    if Identity::of(&there) == syncing.identity {
        return Ok(());
    }
    Err(Failure::new(
        Class::Conflict,
        "CONFLICT_DETECTED",
        format!("{} was changed while it was being synced.", syncing.source_path.display()),
    )
    .suggest("Sync again."))
}

fn keep_owner_and_mode(source: &File, stage: &File) -> io::Result<()> {
    let metadata = source.metadata()?;
    let own = stage.metadata()?;
    if (metadata.uid(), metadata.gid()) != (own.uid(), own.gid()) {
        // Only root can give files away; for others the archive becomes theirs, as it would in an editor.
        let _ = rustix::fs::fchown(stage, Some(Uid::from_raw(metadata.uid())), Some(Gid::from_raw(metadata.gid())));
    }
    rustix::fs::fchmod(stage, Mode::from_raw_mode(metadata.mode() & 0o7777))?;
    Ok(())
}
