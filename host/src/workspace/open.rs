//! Opening an archive, in steps: a private copy, then (by the driver) scan and extraction, then a session that others can see.
//!
//! Until the last step everything is in a directory whose name begins with a dot. If anything fails, or the caller goes away,
//! dropping [`Opening`] removes it; if the process dies, the next open does.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{Mode as FileMode, OFlags, RenameFlags};

use super::baseline::{Baseline, clock};
use super::durable::{flush_directory, flush_filesystem};
use super::identity::{Identity, tick, wait_until};
use super::listing::{Entry, Kind, Listing};
use super::lock::{Lock, Mode};
use super::metadata::{Metadata, State, now};
use super::owner::{Owner, check_share};
use super::quota::Usage;
use super::store::{Workspaces, create_private_dir};
use super::{copy, extracted, glance, layout, name, recover};
use crate::config::Durability;
use crate::failure::{Class, Failure};

/// An archive on its way to become a session.
pub struct Opening {
    workspaces: Arc<Workspaces>,
    id: String,
    name: String,
    owner: Owner,
    /// Name of the directory until it is published.
    hidden: String,
    dir: Dir,
    contents: Dir,
    _lock: Lock,
    source_path: PathBuf,
    /// The file name of an archive that was uploaded, and is kept with the session.
    uploaded: Option<String>,
    archive: Arc<File>,
    archive_size: u64,
    hash: String,
    /// Directories that were made for the archive's files.
    directories: u64,
    /// What the source looked like while it was copied, if it had settled.
    seen: Option<Identity>,
    /// Sessions that an interrupted open left half-made and that were removed on the way.
    half_made: usize,
    drawn: Usage,
    published: bool,
}

/// A session that was just made.
#[derive(Debug)]
pub struct Opened {
    pub metadata: Metadata,
    pub contents_path: PathBuf,
    pub warnings: Vec<String>,
    pub skipped_symlinks: Vec<String>,
}

/// What is to be opened, and for whom.
pub struct Request {
    pub archive: Source,
    pub name: Option<String>,
    pub owner: Owner,
}

/// Where the bytes of an archive come from.
pub enum Source {
    /// A path from outside, which the owner may or may not reach.
    Path(String),
    /// A file that came over the network, with the name it is to have.
    Upload(File, String),
}

impl Source {
    /// As whoever asked calls it.
    pub fn name(&self) -> &str {
        match self {
            Source::Path(path) => path,
            Source::Upload(_, name) => name,
        }
    }
}

impl Opening {
    /// Checks the request and copies the archive. Blocks; the path comes from outside.
    pub fn begin_ambient(
        workspaces: Arc<Workspaces>,
        request: Request,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<Opening, Failure> {
        let Request { archive, name, owner } = request;
        let id = uuid::Uuid::new_v4().to_string();
        let (source, source_path, uploaded) = match archive {
            Source::Path(path) => {
                let (source, path) = owner.reach.open_ambient(&path)?;
                (source, path, None)
            }
            Source::Upload(file, name) => (file, workspaces.path().join(&id).join(layout::ARCHIVE).join(&name), Some(name)),
        };
        let name = name.unwrap_or_default();
        if !name.is_empty() {
            name::check_name(&name)?;
        }
        check_room(&workspaces, &owner, &name)?;

        let hidden = format!(".opening-{id}");
        let storage = |error: io::Error| storage_failure("The workspace cannot be made", &error);
        // Making the directory and locking it is one step for those who sweep.
        let gate = recover::Publishing::begin(workspaces.root()).map_err(storage)?;
        let half_made = recover::sweep(workspaces.root());
        let dir = create_private_dir(workspaces.root(), &hidden).map_err(storage)?;
        // From here on the directory is ours to remove.
        let lock = Lock::try_acquire(&dir, Mode::Exclusive).map_err(storage)?;
        let lock = lock.ok_or_else(|| Failure::internal("A directory that was just made is locked."))?;
        drop(gate);
        let contents = create_private_dir(&dir, layout::CONTENTS).map_err(storage)?;
        create_private_dir(&dir, layout::TMP).map_err(storage)?;
        let original = dir
            .open_with(layout::ORIGINAL, OpenOptions::new().read(true).write(true).create_new(true).mode(0o600))
            .map_err(storage)?;
        let mut opening = Opening {
            workspaces,
            id,
            name,
            owner,
            hidden,
            dir,
            contents,
            _lock: lock,
            source_path,
            uploaded,
            archive: Arc::new(original.into_std()),
            archive_size: 0,
            hash: String::new(),
            directories: 0,
            seen: None,
            half_made,
            drawn: Usage::default(),
            published: false,
        };
        let before = Identity::of(&source.metadata().map_err(storage)?);
        let settled = before.is_settled();
        let size = before.size;
        opening.draw(Usage { bytes: size, files: 1 })?;
        opening.archive_size = size;
        opening.hash = copy::copy_and_hash(&source, &opening.archive, size, is_cancelled)
            .map_err(|error| storage_failure("The archive cannot be copied", &error))?;
        let after = source.metadata().map(|metadata| Identity::of(&metadata)).ok();
        opening.seen = after.filter(|after| settled && *after == before);
        if let Some(name) = &opening.uploaded {
            // The same bytes under two names, until a sync puts a new archive under the second; the first is never written again.
            let kept = create_private_dir(&opening.dir, layout::ARCHIVE).map_err(storage)?;
            opening.dir.hard_link(layout::ORIGINAL, &kept, name).map_err(storage)?;
            opening.seen = None;
        }
        Ok(opening)
    }

    /// The private copy, to be scanned and extracted from.
    pub fn archive(&self) -> Arc<File> {
        self.archive.clone()
    }

    /// Where the files go.
    pub fn contents(&self) -> &Dir {
        &self.contents
    }

    /// Whether links come out as links.
    pub fn extracts_links(&self) -> bool {
        self.workspaces.settings().security.allow_symlinks
    }

    /// Where things are prepared that do not belong into the workspace.
    pub fn tmp(&self) -> io::Result<Dir> {
        self.dir.open_dir(layout::TMP)
    }

    /// Makes room for what the archive holds: disk for all sessions, and the directories.
    pub fn make_room(&mut self, listing: &Listing) -> Result<(), Failure> {
        let bytes = listing.entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.size));
        let with_links = self.extracts_links();
        let is_made = |entry: &&Entry| entry.kind == Kind::File || (with_links && entry.kind == Kind::Symlink);
        let files = listing.entries.iter().filter(is_made).count() as u64;
        let most = self.workspaces.settings().security.max_file_count;
        // An archive can name a file a hundred directories deep and mention none of them.
        let directories =
            extracted::needed_directories(&listing.entries, with_links, most.saturating_sub(files)).ok_or_else(|| {
                let named = self.source_path.display();
                let message = format!(
                    "{named} cannot be opened: it needs more than the {most} files and directories of security.max_file_count."
                );
                Failure::new(Class::Limit, "ZIP_BOMB_DETECTED", message)
                    .suggest("If you trust the archive, raise that setting in config.json.")
            })?;
        self.directories = directories.len() as u64;
        self.draw(Usage { bytes, files: files + self.directories })?;
        extracted::make_directories(&self.contents, directories)
            .map_err(|error| storage_failure("The directories of the archive cannot be made", &error))
    }

    /// Records what was extracted and lets the session be seen. Blocks.
    pub fn publish(mut self, listing: Listing) -> Result<Opened, Failure> {
        let storage = |error: io::Error| storage_failure("The session cannot be completed", &error);
        let durability = self.workspaces.settings().durability;
        let mut warnings = listing.warnings;
        if self.half_made > 0 {
            warnings.push(format!("{} half-made sessions that an interrupted zipfs_open had left were removed.", self.half_made));
        }
        let skipped = listing.entries.iter().filter(|entry| entry.kind == Kind::Symlink && !self.extracts_links());
        let skipped_symlinks: Vec<String> = skipped.map(|entry| entry.path.clone()).collect();
        if !skipped_symlinks.is_empty() {
            warnings.push(format!("{} symbolic links were not extracted; they stay in the archive.", skipped_symlinks.len()));
        }
        let most = self.workspaces.settings().security.max_file_count;
        let directories = extracted::needed_directories(&listing.entries, self.extracts_links(), most).unwrap_or_default();
        let directories: Vec<String> = directories.into_iter().map(str::to_owned).collect();
        let recorded = extracted::finish(&self.contents, listing.entries).map_err(storage)?;
        let directories = glance::first_look(&self.contents, directories.into_iter()).map_err(storage)?;
        let there = |kind| recorded.iter().filter(move |recorded| recorded.entry.kind == kind).filter_map(|recorded| recorded.stat);
        let sizes = there(Kind::File).map(|stat| stat.size);
        let (file_count, extracted_size_bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        let links = there(Kind::Symlink).count() as u64;
        warnings.extend(extracted::smaller_than_declared(&recorded));
        // Nobody can change anything before the session can be seen, which it is only when that time has come. So no file has to be
        // read again for having been made just now.
        let stats = recorded.iter().filter_map(|recorded| recorded.stat).chain(directories.iter().filter_map(|(_, stat)| *stat));
        let settled = stats.map(|stat| stat.changed).max().unwrap_or_else(clock) + tick() + 1;
        // Put on disk with everything else, below.
        Baseline::new(recorded, directories, settled).store(&self.dir, Durability::Fast).map_err(storage)?;
        self.settle(Usage { bytes: extracted_size_bytes, files: file_count + links + self.directories })?;

        let created_at = now();
        let metadata = Metadata {
            id: self.id.clone(),
            name: self.name.clone(),
            source_path: self.source_path.clone(),
            owner: self.owner.id.to_string(),
            created_at: created_at.clone(),
            last_synced_at: None,
            last_accessed_at: created_at,
            state: State::Open,
            zip_hash_sha256: Some(self.hash.clone()),
            source_seen: self.seen,
            extracted_size_bytes,
            file_count,
            links: self.extracts_links(),
            pending: None,
            left_over: Vec::new(),
        };
        metadata.store(&self.dir, Durability::Fast).map_err(storage)?;
        // Before anybody can see it: after a power cut a session that is there has all its files, or a sync would pack half a one.
        flush_filesystem(&self.dir, durability).map_err(storage)?;
        wait_until(settled);

        // Names are unique for each owner only, and a directory can be there once. An uploaded archive is in it, by its path.
        let is_named = !self.name.is_empty() && self.owner.is_local() && self.uploaded.is_none();
        let directory = if is_named { &self.name } else { &self.id };
        let root = self.workspaces.root();
        let gate = recover::Publishing::begin(root).map_err(storage)?;
        check_room(&self.workspaces, &self.owner, &self.name)?;
        // Again, now that nobody else can publish: two that were opened at once must not both have the last of the share.
        check_share(&self.workspaces, &self.owner, self.drawn)?;
        match rustix::fs::renameat_with(root, &self.hidden, root, directory, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(occupied(directory)),
            Err(error) => return Err(storage(error.into())),
        }
        self.published = true;
        drop(gate);
        flush_directory(root, durability).map_err(storage)?;
        let contents_path = self.workspaces.path().join(directory).join(layout::CONTENTS);
        Ok(Opened { metadata, contents_path, warnings, skipped_symlinks })
    }

    fn draw(&mut self, wanted: Usage) -> Result<(), Failure> {
        let all =
            Usage { bytes: self.drawn.bytes.saturating_add(wanted.bytes), files: self.drawn.files.saturating_add(wanted.files) };
        check_share(&self.workspaces, &self.owner, all)?;
        let total = self.workspaces.total().map_err(|error| storage_failure("The disk account cannot be read", &error))?;
        let mut drawn = total.draw(wanted).unwrap_or(false);
        if !drawn && recover::recount_total(self.workspaces.root(), &total).is_ok() {
            drawn = total.draw(wanted).unwrap_or(false);
        }
        if !drawn {
            let most = total.most().bytes;
            return Err(Failure::limit(format!(
                "Opening this archive needs {} bytes, and all sessions together may use {most} (security.max_total_disk_bytes).",
                wanted.bytes
            ))
            .suggest("Close sessions that are not needed, or raise the limit."));
        }
        self.drawn.bytes += wanted.bytes;
        self.drawn.files += wanted.files;
        Ok(())
    }

    /// Replaces the estimate by what is there, and starts the session's own account.
    fn settle(&mut self, counted: Usage) -> Result<(), Failure> {
        let storage = |error: io::Error| storage_failure("The disk account cannot be written", &error);
        let security = &self.workspaces.settings().security;
        let ledger =
            super::quota::Ledger::open(&self.dir, layout::USAGE, security.max_extracted_size_bytes, security.max_file_count)
                .map_err(storage)?;
        ledger.correct(counted).map_err(storage)?;
        let kept = Usage { bytes: counted.bytes + self.archive_size, files: counted.files + 1 };
        let excess =
            Usage { bytes: self.drawn.bytes.saturating_sub(kept.bytes), files: self.drawn.files.saturating_sub(kept.files) };
        self.workspaces.total().and_then(|total| total.give_back(excess)).map_err(storage)?;
        self.drawn = kept;
        Ok(())
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        let _ = self.workspaces.root().remove_dir_all(&self.hidden);
        if let Ok(total) = self.workspaces.total() {
            let _ = total.give_back(self.drawn);
        }
    }
}

/// Opens an archive by its path on the host: a regular file, named absolutely, not through a link in its last component.
///
/// Non-blocking, so that a pipe put there does not hold us for ever.
pub fn open_source_ambient(path: &Path) -> Result<File, Failure> {
    if !path.is_absolute() {
        return Err(Failure::invalid(format!("`path` is {}, which is not absolute.", path.display()))
            .suggest("Give the full path of the archive, beginning with `/`."));
    }
    let not_found = |why: String| {
        Failure::new(Class::NotFound, "ZIP_NOT_FOUND", format!("{} {why}.", path.display()))
            .suggest("Check the path; it must name a zip file that you can read.")
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags, FileMode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Err(not_found("does not exist".into())),
        Err(rustix::io::Errno::LOOP) => return Err(not_found("is a symbolic link; name the file itself".into())),
        Err(rustix::io::Errno::ACCESS) => return Err(not_found("may not be read".into())),
        Err(error) => return Err(not_found(format!("cannot be opened: {}", io::Error::from(error)))),
    };
    let kind = file.metadata().map_err(|error| not_found(format!("cannot be read: {error}")))?.file_type();
    if !kind.is_file() {
        return Err(not_found(if kind.is_dir() { "is a directory" } else { "is not a regular file" }.into()));
    }
    Ok(file)
}

/// Room for one more session of this owner and name.
fn check_room(workspaces: &Workspaces, owner: &Owner, name: &str) -> Result<(), Failure> {
    let known = workspaces.known()?;
    let own = || known.iter().filter(|session| *session.owner == *owner.id);
    if !name.is_empty() && own().any(|session| session.name == name) {
        return Err(collision(name));
    }
    if own().count() as u64 >= owner.most_sessions {
        return Err(Failure::limit(format!("You may have {} sessions open at once, and have them.", owner.most_sessions))
            .suggest("Close one with zipfs_close, or those you do not use with zipfs_prune."));
    }
    let most = workspaces.settings().security.max_sessions;
    if known.len() as u64 >= most && !owner.is_local() {
        return Err(
            Failure::limit("The server has no room for another session.").suggest("Close one of yours, or try again later.")
        );
    }
    if known.len() as u64 >= most {
        return Err(Failure::limit(format!(
            "No more than {most} sessions may be open at once (security.max_sessions), and {} are.",
            known.len()
        ))
        .suggest("Close one with zipfs_close, those nobody uses with zipfs_prune, or raise the limit."));
    }
    Ok(())
}

fn collision(name: &str) -> Failure {
    Failure::new(Class::Conflict, "NAME_COLLISION", format!("A session named {name:?} is already open."))
        .suggest("Use that session, close it, or choose another name.")
}

/// No session has the name, and yet there is something under it: what another program left must not get into a session.
fn occupied(directory: &str) -> Failure {
    let message = format!("There are remains of a session under the name {directory:?}.");
    Failure::new(Class::Conflict, "NAME_COLLISION", message)
        .suggest("Choose another name, or clear them away with zipfs_prune (with stale='3650d' it removes hardly anything else).")
}

/// A full disk is the user's to mend; anything else is ours to report.
pub fn storage_failure(what: &str, error: &io::Error) -> Failure {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded => Failure::limit(format!("{what}: {error}.")).suggest("Free some disk space and try again."),
        _ => Failure::internal(format!("{what}: {error}.")),
    }
}
