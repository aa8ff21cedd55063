//! The durable step of a sync: a complete, verified stage becomes the archive.
//!
//! At every instant the source's name leads to the old archive or the new one, whole. The order is what makes it so: the stage
//! is on disk before anything refers to it; the metadata says what the new archive's hash will be before the name changes; the
//! old archive has its second name before the first one is taken over; and the directory is on disk before success is reported.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::os::unix::fs::MetadataExt;

use super::baseline::{Baseline, Recorded};
use super::listing::Listing;
use super::metadata::{Pending, State, now};
use super::status::Found;
use super::store::Workspace;
use super::sync::{Syncing, failed};
use super::{copy, layout};
use crate::failure::{Class, Failure};

/// The baseline that will hold once the new archive is in place.
const NEXT_BASELINE: &str = "baseline.next";

/// What was committed.
pub struct Committed {
    pub backup_path: Option<PathBuf>,
    pub size: u64,
}

/// Puts the stage in the source's place. Blocks.
pub fn commit_staged(workspace: &mut Workspace, syncing: &Syncing, stage: &File, listing: Listing) -> Result<Committed, Failure> {
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
    let backup = keep_backup(workspace, syncing).map_err(|error| fail("the backup cannot be made", error))?;
    let dir = &syncing.source_dir;
    dir.rename(&syncing.stage_name, dir, &syncing.source_name)
        .map_err(|error| fail("the new archive cannot be put in place", error))?;
    sync_directory(dir).map_err(|error| fail("the directory cannot be written", error))?;

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

/// The file under the source's name must be the one whose hash we checked.
fn check_still_ours(syncing: &Syncing) -> Result<(), Failure> {
    use cap_std::fs::MetadataExt as _;
    let there = syncing
        .source_dir
        .symlink_metadata(&syncing.source_name)
        .map_err(|error| failed(&syncing.source_path, &format!("it is not there any more: {error}")))?;
    let ours = syncing.source.metadata().map_err(|error| failed(&syncing.source_path, &error.to_string()))?;
    let same = there.is_file()
        && (there.dev(), there.ino(), there.size(), there.mtime(), there.mtime_nsec())
            == (ours.dev(), ours.ino(), ours.size(), ours.mtime(), ours.mtime_nsec());
    if same {
        return Ok(());
    }
    Err(Failure::new(
        Class::Conflict,
        "CONFLICT_DETECTED",
        format!("{} was replaced while it was being synced.", syncing.source_path.display()),
    )
    .suggest("Sync again."))
}

/// Gives the old archive a second name, after moving older backups of this session on. Files we did not make are never touched.
fn keep_backup(workspace: &mut Workspace, syncing: &Syncing) -> io::Result<Option<String>> {
    let depth = syncing.backup_depth as usize;
    if depth == 0 {
        return Ok(None);
    }
    let dir = &syncing.source_dir;
    let exists = |name: &str| dir.symlink_metadata(name).is_ok();
    let ours: Vec<String> = workspace.metadata.backups.iter().filter(|name| exists(name)).cloned().collect();
    let slots: Vec<String> = (1..)
        .map(|number| backup_name(&syncing.source_name, number))
        .filter(|name| ours.contains(name) || !exists(name))
        .take(depth.max(ours.len() + 1))
        .collect();
    let mut kept = Vec::new();
    for (age, name) in ours.iter().enumerate().rev() {
        if age + 1 >= depth {
            dir.remove_file(name)?;
        } else {
            dir.rename(name, dir, &slots[age + 1])?;
            kept.insert(0, slots[age + 1].clone());
        }
    }
    let newest = slots[0].clone();
    if let Err(error) = dir.hard_link(&syncing.source_name, dir, &newest) {
        // Some filesystems have no hard links. A copy costs time, not safety.
        tracing::debug!(%error, "copying the backup instead of linking it");
        dir.copy(&syncing.source_name, dir, &newest)?;
    }
    kept.insert(0, newest.clone());
    workspace.metadata.backups = kept;
    workspace.metadata.store(&workspace.dir)?;
    Ok(Some(newest))
}

/// `report.xlsx` → `report.bak.xlsx`, `report.bak.2.xlsx`; `report` → `report.bak`.
fn backup_name(name: &str, number: usize) -> String {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    match number {
        1 => format!("{stem}.bak{extension}"),
        _ => format!("{stem}.bak.{number}{extension}"),
    }
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

/// The handle itself only names the directory; flushing needs one that can read it.
fn sync_directory(dir: &Dir) -> io::Result<()> {
    let readable = rustix::fs::openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::fsync(readable)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_keep_the_extension() {
        assert_eq!(backup_name("report.xlsx", 1), "report.bak.xlsx");
        assert_eq!(backup_name("report.xlsx", 2), "report.bak.2.xlsx");
        assert_eq!(backup_name("report", 1), "report.bak");
        assert_eq!(backup_name(".zip", 3), ".zip.bak.3");
        assert_eq!(backup_name("a.tar.zip", 1), "a.tar.bak.zip");
    }
}
