//! All sessions of a data directory, and one of them in hand.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt};

use super::baseline::{Baseline, Stat, clock};
use super::lock::{self, Lock, Mode};
use super::metadata::{self, Metadata};
use super::owner::LOCAL;
use super::quota::{Ledger, Usage};
use super::{layout, recover, resolve};
use crate::config::{Durability, Settings};
use crate::failure::{Class, Failure};

/// A directory listing younger than this is not trusted: a session made in the same tick of the clock would not show.
const LISTING_SETTLES: Duration = Duration::from_millis(50);

/// The sessions of one data directory.
pub struct Workspaces {
    root: Dir,
    path: PathBuf,
    settings: Arc<Settings>,
    known: Mutex<Option<Listed>>,
    /// Metadata that was read before, by directory: most calls only need to know that it is still the same.
    read_before: Mutex<HashMap<String, (Stat, Metadata)>>,
}

/// What identifies a session. None of it changes while the session lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub name: String,
    /// Name of its directory.
    pub directory: String,
    /// Id of the principal whose it is.
    pub owner: String,
}

struct Listed {
    changed: SystemTime,
    sessions: Arc<Vec<Known>>,
}

/// A session in hand, locked. What is known of it was read after the lock was taken.
pub struct Workspace {
    pub metadata: Metadata,
    pub dir: Dir,
    pub contents: Dir,
    pub lock: Lock,
    /// The workspace's directory on the host.
    pub path: PathBuf,
    pub durability: Durability,
    /// What was put right on the way, for whoever made the call. Shared, because the session itself goes into the call.
    pub notice: Arc<OnceLock<String>>,
}

impl Workspaces {
    /// Opens the directory of sessions, making it if it is not there. This is where the host's authority over it enters.
    pub fn open_ambient(path: &Path, settings: Arc<Settings>) -> Result<Workspaces, Failure> {
        let open = || -> io::Result<Dir> {
            std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700).create(path)?;
            Dir::open_ambient_dir(path, ambient_authority())
        };
        let root = open().map_err(|error| {
            Failure::internal(format!("The directory for sessions, {}, cannot be used: {error}.", path.display()))
                .suggest("Set ZIPFS_DATA_DIR to a directory that you can write.")
        })?;
        Ok(Workspaces { root, path: path.to_owned(), settings, known: Mutex::new(None), read_before: Mutex::default() })
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn root(&self) -> &Dir {
        &self.root
    }

    /// The directory on the host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sessions there are, oldest directory name order. Read from the disk only when the directory changed: sessions appear
    /// and vanish by a rename in it.
    pub fn known(&self) -> Result<Arc<Vec<Known>>, Failure> {
        let changed = self.root.dir_metadata().and_then(|meta| meta.modified()).map_err(unreadable)?.into_std();
        let mut cached = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(listed) = &*cached
            && listed.changed == changed
        {
            return Ok(listed.sessions.clone());
        }
        let mut sessions = Vec::new();
        let mut has_hidden = false;
        for entry in self.root.entries().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let Some(directory) = entry.file_name().to_str().map(str::to_owned) else { continue };
            // A leading dot marks what is on its way in or out; it is no session.
            if directory.starts_with('.') {
                has_hidden |= recover::is_hidden(&directory);
                continue;
            }
            // Only what is gone or was never a session is passed over. A session that cannot be opened for another reason, as when
            // descriptors run out, would be forgotten here, and another one taken for the only one.
            let dir = match entry.open_dir() {
                Ok(dir) => dir,
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
                Err(error) => return Err(unreadable(error)),
            };
            match Metadata::load(&dir) {
                Ok(found) => sessions.push(Known { id: found.id, name: found.name, directory, owner: found.owner }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // A session that is damaged still counts: leaving it out could make another one the only one, and the target of a
                // call that was meant for this.
                Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(unreadable(error)),
                // Whose it is cannot be read any more; the local user can look after it.
                Err(_) => {
                    sessions.push(Known { id: directory.clone(), name: directory.clone(), directory, owner: LOCAL.to_owned() })
                }
            }
        }
        if has_hidden && let Some(_alone) = recover::Publishing::try_begin(&self.root) {
            recover::sweep(&self.root);
        }
        sessions.sort_by(|a, b| a.directory.cmp(&b.directory));
        let sessions = Arc::new(sessions);
        let settled = SystemTime::now().duration_since(changed).is_ok_and(|age| age > LISTING_SETTLES);
        *cached = settled.then(|| Listed { changed, sessions: sessions.clone() });
        Ok(sessions)
    }

    /// The sessions of an owner with their metadata, oldest first.
    pub fn list(&self, owner: &str) -> Result<Vec<Metadata>, Failure> {
        let mut found = Vec::new();
        for known in self.known()?.iter().filter(|known| known.owner == owner) {
            let Ok(dir) = self.root.open_dir(&known.directory) else { continue };
            let Ok(mut metadata) = Metadata::load(&dir) else { continue };
            if let Some(time) = lock::last_access(&dir) {
                metadata.last_accessed_at = metadata::format_time(time);
            }
            // The copy of the archive is written once, at opening: it orders what was opened within the same second.
            let copied = dir.metadata(layout::ORIGINAL).and_then(|copy| copy.modified()).map(|time| time.into_std()).ok();
            found.push((copied, metadata));
        }
        found.sort_by(|(a_copied, a), (b_copied, b)| (&a.created_at, a_copied, &a.id).cmp(&(&b.created_at, b_copied, &b.id)));
        Ok(found.into_iter().map(|(_, metadata)| metadata).collect())
    }

    /// The session of an owner that `wanted` names, or its only one, locked. A sync that a crash interrupted is put right first.
    pub async fn enter(&self, owner: &str, wanted: Option<&str>, mode: Mode) -> Result<Workspace, Failure> {
        let timeout = Duration::from_millis(self.settings.defaults.lock_timeout_ms);
        let known = self.known()?;
        let own: Vec<&Known> = known.iter().filter(|known| known.owner == owner).collect();
        let known = resolve::resolve(&own, wanted)?;
        let gone = || Failure::new(Class::NotFound, "SESSION_NOT_FOUND", format!("The session {} was closed.", known.id));
        let dir = self.root.open_dir(&known.directory).map_err(|_| gone())?;
        let lock = Lock::acquire(&dir, mode, timeout).await?;
        let mut workspace = self.take(&known.directory, dir, lock).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => Failure::internal(format!(
                "The metadata of the session in {} is damaged.",
                self.path.join(&known.directory).display()
            ))
            .suggest(
                "Its files are in `contents`, the archive as it was opened is original.zip; save what you need and remove it.",
            ),
            _ => gone(),
        })?;
        if workspace.metadata.pending.is_some() {
            self.change_lock(&mut workspace, Mode::Exclusive).await?;
            if mode == Mode::Shared {
                self.change_lock(&mut workspace, Mode::Shared).await?;
            }
        }
        Ok(workspace)
    }

    /// Changes the lock of a session. In between nothing is held and others may have done anything: so the directory is checked
    /// to be the session still, and the metadata is read again. With the exclusive lock, left-overs of killed calls are cleared.
    pub async fn change_lock(&self, workspace: &mut Workspace, mode: Mode) -> Result<(), Failure> {
        workspace.lock.change(mode, Duration::from_millis(self.settings.defaults.lock_timeout_ms)).await?;
        let gone =
            || Failure::new(Class::NotFound, "SESSION_NOT_FOUND", format!("The session {} was closed.", workspace.metadata.id));
        let directory = workspace.path.file_name().ok_or_else(gone)?;
        if !self.is_in_place(directory.as_ref(), &workspace.dir).unwrap_or(false) {
            return Err(gone());
        }
        let metadata = Metadata::load(&workspace.dir).map_err(|_| gone())?;
        if mode == Mode::Exclusive
            && let Ok(tmp) = workspace.tmp()
        {
            for left in tmp.entries().into_iter().flatten().flatten() {
                let _ = tmp.remove_file(left.file_name());
            }
        }
        workspace.metadata = metadata;
        // Whoever had the lock in between may have died in the middle of a sync. To begin another one over its traces would
        // leave its stage behind, and take what it had already put in place for somebody else's change.
        if mode == Mode::Exclusive
            && let Some(ended) = recover::finish_interrupted_sync(self, workspace)?
        {
            tracing::info!(session = workspace.metadata.id, ?ended, "ended a sync that had been interrupted");
            let _ = workspace.notice.set(ended.tell().to_owned());
        }
        Ok(())
    }

    /// The metadata, from memory if the file is the one that was read. It is only ever replaced as a whole.
    fn metadata(&self, directory: &str, dir: &Dir) -> io::Result<Metadata> {
        let stat = Stat::of(&dir.symlink_metadata(layout::METADATA)?);
        let mut read_before = self.read_before.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((known, metadata)) = read_before.get(directory)
            && *known == stat
        {
            return Ok(metadata.clone());
        }
        let metadata = Metadata::load(dir)?;
        read_before.remove(directory);
        // A file that was just written could be written again in the same tick of the clock and look the same.
        if stat.is_settled_at(clock()) {
            // Sessions that were closed meanwhile are not worth a search; forgetting all of them now and then is.
            if read_before.len() >= 100 {
                read_before.clear();
            }
            read_before.insert(directory.to_owned(), (stat, metadata.clone()));
        }
        Ok(metadata)
    }

    fn is_in_place(&self, directory: &Path, dir: &Dir) -> io::Result<bool> {
        let (here, there) = (dir.dir_metadata()?, self.root.symlink_metadata(directory)?);
        Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
    }

    /// Makes sure, now that the lock is held, that the directory still is the session: another process may have closed it
    /// while we waited, and a new session may have its name.
    pub(super) fn take(&self, directory: &str, dir: Dir, lock: Lock) -> io::Result<Workspace> {
        if !self.is_in_place(directory.as_ref(), &dir)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        let metadata = self.metadata(directory, &dir)?;
        let contents = dir.open_dir_nofollow(layout::CONTENTS)?;
        let durability = self.settings.durability;
        Ok(Workspace { metadata, dir, contents, lock, path: self.path.join(directory), durability, notice: Arc::default() })
    }

    /// What an owner's sessions use together, by their accounts.
    pub fn used_by(&self, owner: &str) -> Result<Usage, Failure> {
        let mut used = Usage::default();
        for known in self.known()?.iter().filter(|known| known.owner == owner) {
            let Ok(dir) = self.root.open_dir(&known.directory) else { continue };
            let own = Ledger::open(&dir, layout::USAGE, u64::MAX, u64::MAX).and_then(|ledger| ledger.used()).unwrap_or_default();
            let size = |dir: &Dir, name: &Path| dir.metadata(name).map_or(0, |file| file.len());
            let mut archives = size(&dir, layout::ORIGINAL.as_ref());
            if let Ok(archive) = dir.open_dir(layout::ARCHIVE) {
                let all = archive.entries().into_iter().flatten().flatten();
                archives += all.map(|entry| size(&archive, entry.file_name().as_ref())).sum::<u64>();
            }
            used.bytes += own.bytes + archives;
            used.files += own.files + 1;
        }
        Ok(used)
    }

    /// The account of all sessions together.
    pub fn total(&self) -> io::Result<Ledger> {
        Ledger::open(&self.root, ".usage", self.settings.security.max_total_disk_bytes, u64::MAX)
    }
}

impl Workspace {
    /// Whether its archive was uploaded, and is nowhere but with it.
    pub fn holds_its_archive(&self) -> bool {
        self.metadata.source_path.parent() == Some(&self.path.join(layout::ARCHIVE))
    }

    /// That archive, opened; `None` if its place is elsewhere.
    pub fn own_archive(&self) -> Option<Result<std::fs::File, Failure>> {
        let name = self.holds_its_archive().then(|| self.metadata.source_path.file_name()).flatten()?;
        let opened = self.dir.open_dir_nofollow(layout::ARCHIVE).and_then(|kept| kept.open(name));
        Some(opened.map(|file| file.into_std()).map_err(unreadable))
    }

    /// The host path of the files.
    pub fn contents_path(&self) -> PathBuf {
        self.path.join(layout::CONTENTS)
    }

    /// What the archive held when it was last opened or synced.
    pub fn baseline(&self) -> Result<Baseline, Failure> {
        Baseline::load(&self.dir).map_err(|error| {
            Failure::internal(format!("What the archive held is not known any more: {error}.")).suggest(format!(
                "The files are in {}: save what you need, close the session with sync=false and open the archive anew.",
                self.contents_path().display()
            ))
        })
    }

    /// Where files are prepared, out of the guests' sight.
    pub fn tmp(&self) -> io::Result<Dir> {
        self.dir.open_dir_nofollow(layout::TMP)
    }

    /// The account of this session.
    pub fn ledger(&self, settings: &Settings) -> io::Result<Ledger> {
        let security = &settings.security;
        Ledger::open(&self.dir, layout::USAGE, security.max_extracted_size_bytes, security.max_file_count)
    }

    pub(super) fn store_metadata(&self) -> Result<(), Failure> {
        self.metadata
            .store(&self.dir, self.durability)
            .map_err(|error| Failure::internal(format!("The session's metadata cannot be written: {error}.")))
    }
}

/// Makes a directory that only its owner can enter.
pub(super) fn create_private_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    let mut builder = DirBuilder::new();
    parent.create_dir_with(name, builder.mode(0o700))?;
    parent.open_dir_nofollow(name)
}

fn unreadable(error: io::Error) -> Failure {
    Failure::internal(format!("The directory of sessions cannot be read: {error}."))
}
