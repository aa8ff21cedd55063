//! Writing a workspace's changes back, in steps: the source is checked, the driver packs into a stage, [`commit`](super::commit)
//! puts it in place.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::baseline::{Baseline, clock};
use super::durable::flush_file;
use super::glance::shows_changes;
use super::identity::Identity;
use super::listing::Listing;
use super::metadata::{Pending, Staged, State};
use super::open::open_source_ambient;
use super::status::{self, Changes};
use super::store::{Workspace, Workspaces};
use super::{attributes, copy, quota, recover};
use crate::config::Durability;
use crate::failure::{Class, Failure};

/// A sync under way. Needs the exclusive lock.
pub struct Syncing {
    pub(super) source_path: PathBuf,
    pub(super) source_dir: Dir,
    pub(super) source_name: String,
    pub(super) source: Arc<File>,
    /// What the source was when its hash was known.
    pub(super) identity: Identity,
    pub(super) stage_name: String,
    /// Under which the old archive waits to become a backup.
    pub(super) waiting_name: String,
    pub(super) changes: Changes,
    /// When the workspace was compared; the stats of the new baseline are from then.
    pub(super) compared: i64,
    pub(super) baseline: Baseline,
    source_state: SourceState,
    /// The changed source cannot be read, so nothing of it can be kept.
    anew: bool,
    pub(super) backup_depth: u32,
}

/// What is known of the source, compared with the archive that the session knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceState {
    Same,
    /// It looks different, and there is no hash to tell.
    InDoubt,
    Changed,
}

/// A new archive that is being written.
pub struct Stage {
    pub file: Arc<File>,
    /// Of blocks that it can share with the source, or 0.
    pub block_size: u32,
    /// For contents on their way into it.
    pub scratch: Arc<File>,
    /// Whether it has its name already.
    is_named: bool,
}

/// Through which a file without a name gets one.
const OWN_DESCRIPTORS: &str = "/proc/self/fd";

/// Up to this size an archive is hashed when it is written.
const WORTH_HASHING: u64 = 16 << 20;

/// From this size on it matters whether blocks are shared.
const WORTH_SHARING: u64 = 1 << 20;

impl Syncing {
    /// Finds what changed in the workspace, and whether the source is still the archive we know. Blocks.
    pub fn begin(workspaces: &Workspaces, workspace: &mut Workspace) -> Result<Syncing, Failure> {
        let source_path = workspace.metadata.source_path.clone();
        let source = open_source_ambient(&source_path).map_err(|failure| {
            let kept = workspace.path.join(super::layout::ORIGINAL);
            failure.suggest(format!(
                "The workspace is untouched. Put the archive back (as it was first opened it is {}), then sync with force=true.",
                kept.display()
            ))
        })?;
        let unreadable = |error: std::io::Error| failed(&source_path, &format!("the archive cannot be read: {error}"));
        let metadata = source.metadata().map_err(unreadable)?;
        if metadata.mode() & 0o222 == 0 {
            return Err(failed(&source_path, "it is read-only").suggest("Make it writable (chmod u+w) and sync again."));
        }
        let identity = Identity::of(&metadata);
        // What looks as it did when its hash was known need not be hashed again: that would cost as much as the whole sync.
        let source_state = match &workspace.metadata.zip_hash_sha256 {
            _ if workspace.metadata.source_seen == Some(identity) => SourceState::Same,
            Some(known) if copy::hash(&source).map_err(unreadable)? == *known => SourceState::Same,
            Some(_) => SourceState::Changed,
            None => SourceState::InDoubt,
        };
        let (Some(parent), Some(name)) = (source_path.parent(), source_path.file_name().and_then(|name| name.to_str())) else {
            return Err(failed(&source_path, "its name cannot be used"));
        };
        let source_dir = Dir::open_ambient_dir(parent, ambient_authority())
            .map_err(|error| failed(&source_path, &format!("its directory cannot be opened: {error}")))?;
        recover::clear_left_over(workspaces, workspace, &source_dir);
        let compared = clock();
        let (baseline, changes) = compare(workspace)?;
        // Nobody else has the session now, so what was counted is what is used.
        let settings = workspaces.settings();
        if let (Ok(ledger), Ok(total)) = (workspace.ledger(settings), workspaces.total()) {
            let _ = quota::settle(&ledger, &total, changes.usage);
        }
        let once = uuid::Uuid::new_v4().simple();
        Ok(Syncing {
            stage_name: format!(".{name}.zipfs-tmp-{once}"),
            waiting_name: format!(".{name}.zipfs-bak-{once}"),
            source_name: name.to_owned(),
            source_dir,
            source: Arc::new(source),
            identity,
            source_path,
            changes,
            compared,
            baseline,
            source_state,
            anew: false,
            backup_depth: settings.defaults.backup_rotation_depth,
        })
    }

    /// Whether somebody else changed the archive, so that what we know of its inside does not hold.
    pub fn must_rescan(&self) -> bool {
        self.source_state == SourceState::Changed
    }

    /// Whether only a look into the archive can tell if somebody changed it.
    pub fn is_in_doubt(&self) -> bool {
        self.source_state == SourceState::InDoubt
    }

    /// Ends the doubt.
    pub fn decide(&mut self, is_same: bool) {
        self.source_state = if is_same { SourceState::Same } else { SourceState::Changed };
    }

    pub fn changed_by_others(&self) -> Failure {
        conflict(&self.source_path, "was changed by somebody else since it was opened")
            .suggest("Look at both, then sync with force=true to write the workspace over it (it is kept as the backup).")
    }

    pub fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// Whether the new archive is made from nothing.
    pub fn starts_anew(&self) -> bool {
        self.anew
    }

    /// Takes a fresh listing of the changed source as the base, or nothing if it has none. Everything is compared by contents.
    pub fn rebase(&mut self, workspace: &Workspace, listing: Option<Listing>) -> Result<(), Failure> {
        self.anew = listing.is_none();
        let recorded =
            listing.unwrap_or_default().entries.into_iter().map(|entry| super::baseline::Recorded { entry, stat: None }).collect();
        self.baseline = Baseline::new(recorded, Vec::new(), 0);
        self.changes = status::compare(&workspace.contents, &self.baseline, workspace.metadata.links).map_err(unreadable)?;
        Ok(())
    }

    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    pub fn source(&self) -> Arc<File> {
        self.source.clone()
    }

    /// What the archive will roughly weigh: unchanged entries as they are, changed ones as well compressed as before.
    pub fn estimated_size(&self) -> u64 {
        let size = self.source.metadata().map_or(0, |metadata| metadata.len());
        let removed: u64 = self.changes.deleted.iter().map(|(index, _)| self.baseline.entries[*index as usize].entry.span).sum();
        let added: u64 = self.changes.added.iter().map(|found| found.stat.size / 2 + 200).sum();
        let grown: i64 = self
            .changes
            .modified
            .iter()
            .map(|(index, found)| {
                let old = &self.baseline.entries[*index as usize].entry;
                let scaled = found.stat.size as u128 * u128::from(old.compressed_size.max(1)) / u128::from(old.size.max(1));
                scaled as i64 - old.compressed_size as i64
            })
            .sum();
        (size + added).saturating_sub(removed).saturating_add_signed(grown)
    }

    /// Makes the stage in the source's directory: without a name if that is possible, so that nothing of it stays behind whatever
    /// happens. Else its name is noted first, for recovery. Blocks.
    pub fn stage(&self, workspace: &mut Workspace) -> Result<Stage, Failure> {
        workspace.metadata.state = State::Syncing;
        workspace.metadata.pending = Some(self.pending(None, None));
        let unwritable = |error: std::io::Error| failed(&self.source_path, &format!("its directory cannot be written: {error}"));
        let (file, is_named) = match self.make_unnamed().map_err(unwritable)? {
            Some(file) => (file, false),
            None => {
                workspace.store_metadata()?;
                let options = &mut OpenOptions::new();
                options.read(true).write(true).create_new(true).mode(0o600);
                (self.source_dir.open_with(&self.stage_name, options).map_err(unwritable)?.into_std(), true)
            }
        };
        let block_size = match self.anew || self.identity.size < WORTH_SHARING {
            true => 0,
            false => copy::shared_block_size(&self.source, &file)
                .map_err(|error| failed(&self.source_path, &format!("the new archive cannot be written: {error}")))?,
        };
        Ok(Stage { file: Arc::new(file), block_size, scratch: self.scratch(workspace)?, is_named })
    }

    /// A file in the source's directory that has no name yet. `None` where the filesystem has no such files, or nothing could give
    /// it its name later.
    fn make_unnamed(&self) -> std::io::Result<Option<File>> {
        if !Path::new(OWN_DESCRIPTORS).exists() {
            return Ok(None);
        }
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.source_dir, ".", flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives the stage its name beside the source, if it has none. Blocks.
    pub(super) fn name_stage(&self, stage: &Stage) -> std::io::Result<()> {
        if !stage.is_named {
            let descriptor = format!("{OWN_DESCRIPTORS}/{}", stage.file.as_raw_fd());
            rustix::fs::linkat(CWD, descriptor, &self.source_dir, &self.stage_name, AtFlags::SYMLINK_FOLLOW)?;
        }
        Ok(())
    }

    /// What recovery has to know of this sync.
    pub(super) fn pending(&self, staged: Option<Staged>, backup: Option<String>) -> Pending {
        Pending { stage: self.stage_name.clone(), base: self.identity, staged, backup }
    }

    /// Notes that a sync is under way, for those who look at the session from outside, while it goes on. Nothing depends on it.
    pub fn note(&self, workspace: &Workspace, stage: &Stage) -> Option<JoinHandle<()>> {
        if stage.is_named {
            return None;
        }
        let (metadata, durability) = (workspace.metadata.clone(), workspace.durability);
        let dir = workspace.dir.try_clone().ok()?;
        let note = move || {
            if let Err(error) = metadata.store_soon(&dir, durability) {
                tracing::debug!(%error, "the beginning of a sync was not noted");
            }
        };
        std::thread::Builder::new().name("note".into()).spawn(note).ok()
    }

    /// A file in the session that has no name.
    fn scratch(&self, workspace: &Workspace) -> Result<Arc<File>, Failure> {
        let make = || {
            let tmp = workspace.tmp()?;
            let name = format!("scratch-{}", uuid::Uuid::new_v4().simple());
            let file = tmp.open_with(&name, OpenOptions::new().read(true).write(true).create_new(true).mode(0o600))?;
            tmp.remove_file(&name)?;
            Ok(Arc::new(file.into_std()))
        };
        make().map_err(|error: std::io::Error| failed(&self.source_path, &format!("the session cannot be written: {error}")))
    }

    /// A sync that failed before the archive was touched.
    pub fn failed(&self, why: &str) -> Failure {
        failed(&self.source_path, why)
    }

    /// Opens the stage again, to be read: what is verified is what a rename would put in place. Without a name nobody can have
    /// replaced it.
    pub fn reopen(&self, stage: &Stage) -> Result<Arc<File>, Failure> {
        if !stage.is_named {
            return Ok(stage.file.clone());
        }
        let reopen = || {
            let there = self.source_dir.open(&self.stage_name)?.into_std();
            let (there_inode, inode) = (there.metadata()?.ino(), stage.file.metadata()?.ino());
            if there_inode == inode { Ok(there) } else { Err(std::io::Error::other("somebody replaced it")) }
        };
        let file = reopen().map_err(|error| failed(&self.source_path, &format!("the new archive cannot be read back: {error}")))?;
        Ok(Arc::new(file))
    }

    /// Gives the complete stage the attributes of the source, and puts it on disk. To be done on another thread; it blocks.
    pub fn seal(&self, workspace: &Workspace, stage: &Stage) -> impl FnOnce() -> Result<(), Failure> + Send + 'static {
        let (source, stage, path, durability) =
            (self.source.clone(), stage.file.clone(), self.source_path.clone(), workspace.durability);
        move || {
            attributes::keep(&source, &stage).map_err(|error| failed(&path, &format!("its attributes cannot be kept: {error}")))?;
            flush_file(&stage, durability).map_err(|error| failed(&path, &format!("the new archive cannot be written: {error}")))
        }
    }

    /// Whether the new archive is hashed while it is written. A small one is, so that it is known again wherever it turns up; to hash
    /// a large one would take longer than all the rest, and its entries tell as well whether it is the same.
    pub fn hashes(&self, stage: &Stage) -> bool {
        // Elsewhere a file may have another number after a crash, and only the hash tells that it is the same.
        let numbers_last = stage.block_size > 0 || shows_changes(&self.source_dir);
        self.estimated_size() <= WORTH_HASHING || !numbers_last
    }

    /// Whether the new archive is put on disk while it is written. Where blocks are shared there is next to nothing to put there.
    pub fn flushes_on_the_way(&self, workspace: &Workspace, stage: &Stage) -> bool {
        workspace.durability == Durability::Full && stage.block_size == 0
    }

    /// Ends a sync that failed, as recovery would: back to what was, or forward if the new archive had already taken its place.
    pub fn abandon(&self, workspaces: &Workspaces, workspace: &mut Workspace) {
        if let Err(error) = recover::finish_interrupted_sync(workspaces, workspace) {
            tracing::warn!(%error, "a failed sync could not be noted; the next use of the session will");
        }
    }
}

/// The workspace against its own baseline. Blocks.
pub fn compare(workspace: &Workspace) -> Result<(Baseline, Changes), Failure> {
    let baseline = workspace.baseline()?;
    let changes = status::compare(&workspace.contents, &baseline, workspace.metadata.links).map_err(unreadable)?;
    Ok((baseline, changes))
}

/// The same for those who only look, under the shared lock. What had to be read to be found unchanged is noted, so that asking again
/// costs a walk that stats. Blocks.
pub fn compare_and_settle(workspace: &Workspace) -> Result<Changes, Failure> {
    let began = clock();
    let (mut baseline, changes) = compare(workspace)?;
    if baseline.settle(&changes, began)
        && let Err(error) = workspace.tmp().and_then(|tmp| baseline.store_shared(&workspace.dir, &tmp, workspace.durability))
    {
        tracing::debug!(%error, "the baseline was not settled; the next comparison reads the same files");
    }
    Ok(changes)
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::internal(format!("The workspace cannot be read: {error}."))
}

pub(super) fn conflict(source: &Path, what: &str) -> Failure {
    Failure::new(Class::Conflict, "CONFLICT_DETECTED", format!("{} {what}.", source.display()))
}

pub(super) fn failed(source: &Path, why: &str) -> Failure {
    Failure::new(Class::Internal, "SYNC_FAILED", format!("{} was not changed: {why}.", source.display()))
        .suggest("Nothing is lost; mend the cause and sync again.")
}
