//! `files`: replacing a file in one step, and modes: what WASI's filesystem lacks.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use cap_std::fs::{Dir, File, Metadata, MetadataExt, Permissions, PermissionsExt};
use rustix::fs::{Mode, OFlags};
use wasmtime::Result;
use wasmtime::component::Resource;

use crate::config::Durability;
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::bindings::plugin::zipfs::plugin::files::{Host, HostHeldFile, HostReplacement};
use crate::sandbox::bindings::types::Error;
use crate::sandbox::changing::{Changing, State, identify};
use crate::sandbox::guest::{Guest, Mount};
use crate::sandbox::incoming::Incoming;
use crate::sandbox::metered::charge;
use crate::workspace::attributes;
use crate::workspace::durable::flush_directory;
use crate::workspace::extracted::masked_mode;
use crate::workspace::quota::Usage;

/// A file that is being written to become the one at `path`.
pub struct Replacement {
    incoming: Incoming,
    path: String,
    written: u64,
    done: bool,
    /// What has to be at `path` still, if it was begun from a file that is held.
    expected: Option<Option<State>>,
}

/// A file that only this call changes.
pub struct HeldFile {
    path: String,
    dir: Dir,
    state: Option<State>,
    _changing: Changing,
}

impl Guest {
    /// The mount, if this call may use `files` on it.
    fn files_mount(&self, writes: bool) -> Result<&Mount, Error> {
        if !self.has(Capability::Files) {
            return Err(not_declared(Capability::Files));
        }
        let Some(mount) = &self.call.mount else {
            return Err(Failure::new(Class::Forbidden, "NO_WORKSPACE", "This call has no workspace.").into());
        };
        if writes && mount.allowance.is_none() {
            return Err(Failure::new(Class::Forbidden, "READ_ONLY", "The workspace of this call is read-only.").into());
        }
        Ok(mount)
    }

    /// How long others are waited for.
    fn patience(&self) -> Duration {
        let settings = self.call.sessions.as_ref().map(|host| host.workspaces.settings().defaults.clone()).unwrap_or_default();
        Duration::from_millis(settings.lock_timeout_ms)
    }

    fn durability(&self) -> Durability {
        self.call.workspace.as_ref().map_or(Durability::Full, |workspace| workspace.durability)
    }

    /// Begins a file that is to be at `path`, whose directory exists.
    fn begin_replacement(&self, path: String, expected: Option<Option<State>>) -> Result<Replacement, Error> {
        let mount = self.files_mount(true)?;
        let (parent, name) = split(&path)?;
        let dir = open_parent(&mount.dir, parent).map_err(|error| told(&path, error))?;
        match dir.symlink_metadata(name) {
            Ok(there) if there.is_dir() => return Err(told(&path, rustix::io::Errno::ISDIR.into())),
            // Something is already counted here; what it weighed is freed when it is replaced.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(told(&path, error)),
        }
        if let Some(allowance) = &mount.allowance {
            charge(allowance, Usage { bytes: 0, files: 1 }).map_err(|error| told(&path, error))?;
        }
        let incoming = match &mount.tmp {
            Some(tmp) => Incoming::in_tmp(tmp),
            None => Incoming::beside(&dir),
        };
        let incoming = incoming.map_err(|error| told(&path, error))?;
        Ok(Replacement { incoming, path, written: 0, done: false, expected })
    }

    /// Takes hold of the file at `path`, or of the place for it.
    async fn take_hold(&mut self, path: String) -> Result<HeldFile, Error> {
        if self.holding.is_some() {
            return Err(Failure::invalid("This call has hold of a file already, and can have only one.").into());
        }
        let patience = self.patience();
        let (parent, name) = split(&path)?;
        let dir = open_parent(&self.files_mount(true)?.dir, parent).map_err(|error| told(&path, error))?;
        let changing =
            Changing::begin(&dir, patience).await.map_err(|error| told(&path, error))?.ok_or_else(|| busy(&path, patience))?;
        let state = State::of(&dir, name).map_err(|error| told(&path, error))?;
        self.holding = Some(changing.directory);
        Ok(HeldFile { path, dir, state, _changing: changing })
    }

    /// Gives a finished file its place. Others who change this directory are waited for, unless it is this call itself.
    async fn commit_replacement(&mut self, this: &Resource<Replacement>) -> Result<Result<(), Error>> {
        let (patience, durability, holding) = (self.patience(), self.durability(), self.holding);
        let replacement = self.table.get_mut(this)?;
        let Some(mount) = &self.call.mount else { return Ok(Err(Failure::internal("The workspace is gone.").into())) };
        let path = replacement.path.clone();
        let (parent, name) = match split(&path) {
            Ok(parts) => parts,
            Err(error) => return Ok(Err(error)),
        };
        let opened = open_parent(&mount.dir, parent).and_then(|dir| Ok((identify(&dir)?, dir)));
        let (directory, dir) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(told(&path, error))),
        };
        let changing = match holding == Some(directory) {
            true => None,
            false => match Changing::begin(&dir, patience).await {
                Ok(None) => return Ok(Err(busy(&path, patience))),
                Ok(changing) => changing,
                Err(error) => return Ok(Err(told(&path, error))),
            },
        };
        let placed = put_in_place(mount, replacement, &dir, name, durability);
        drop(changing);
        if matches!(placed, Ok(true)) {
            replacement.done = true;
        }
        Ok(match placed {
            Ok(true) => Ok(()),
            Ok(false) => Err(changed(&path)),
            Err(error) => Err(told(&path, error)),
        })
    }
}

/// What a guest hears that uses what its tool does not declare, or its plugin was not granted.
pub fn not_declared(capability: Capability) -> Error {
    Failure::new(
        Class::Forbidden,
        "CAPABILITY_REFUSED",
        format!("This call may not use `{}`: the tool does not declare it, or the plugin was not granted it.", capability.name()),
    )
    .into()
}

impl Host for Guest {
    fn replace(&mut self, path: String) -> Result<Result<Resource<Replacement>, Error>> {
        Ok(match self.begin_replacement(path, None) {
            Ok(replacement) => Ok(self.table.push(replacement)?),
            Err(error) => Err(error),
        })
    }

    async fn hold(&mut self, path: String) -> Result<Result<Resource<HeldFile>, Error>> {
        Ok(match self.take_hold(path).await {
            Ok(held) => Ok(self.table.push(held)?),
            Err(error) => Err(error),
        })
    }

    fn get_mode(&mut self, path: String) -> Result<Result<u32, Error>> {
        Ok((|| {
            let mount = self.files_mount(false)?;
            let (parent, name) = split(&path)?;
            let metadata = open_parent(&mount.dir, parent).and_then(|dir| dir.symlink_metadata(name));
            Ok(metadata.map_err(|error| told(&path, error))?.mode() & 0o7777)
        })())
    }

    fn set_mode(&mut self, path: String, mode: u32) -> Result<Result<(), Error>> {
        Ok((|| {
            let mount = self.files_mount(true)?;
            let (parent, name) = split(&path)?;
            let dir = open_parent(&mount.dir, parent).map_err(|error| told(&path, error))?;
            let metadata = dir.symlink_metadata(name).map_err(|error| told(&path, error))?;
            if !metadata.is_file() && !metadata.is_dir() {
                return Err(told(&path, rustix::io::Errno::PERM.into()));
            }
            let mode = masked_mode(Some(mode), metadata.is_dir());
            dir.set_permissions(name, Permissions::from_mode(mode)).map_err(|error| told(&path, error))
        })())
    }
}

impl HostReplacement for Guest {
    fn write(&mut self, this: Resource<Replacement>, bytes: Vec<u8>) -> Result<Result<(), Error>> {
        let allowance = self.call.mount.as_ref().and_then(|mount| mount.allowance.clone());
        let replacement = self.table.get_mut(&this)?;
        Ok((|| {
            let needed = Usage { bytes: bytes.len() as u64, files: 0 };
            if let Some(allowance) = allowance {
                charge(&allowance, needed).map_err(|error| told(&replacement.path, error))?;
            }
            replacement.incoming.file.write_all(&bytes).map_err(|error| told(&replacement.path, error))?;
            replacement.written += needed.bytes;
            Ok(())
        })())
    }

    async fn commit(&mut self, this: Resource<Replacement>) -> Result<Result<(), Error>> {
        if self.table.get(&this)?.done {
            return Ok(Err(Failure::invalid("This replacement was already committed.").into()));
        }
        self.commit_replacement(&this).await
    }

    fn drop(&mut self, this: Resource<Replacement>) -> Result<()> {
        let replacement = self.table.delete(this)?;
        if !replacement.done
            && let Some(allowance) = self.call.mount.as_ref().and_then(|mount| mount.allowance.as_ref())
        {
            let mut allowance = allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            allowance.refund(Usage { bytes: replacement.written, files: 1 });
        }
        Ok(())
    }
}

impl HostHeldFile for Guest {
    fn replace(&mut self, this: Resource<HeldFile>) -> Result<Result<Resource<Replacement>, Error>> {
        let held = self.table.get(&this)?;
        let (path, state) = (held.path.clone(), held.state);
        Ok(match self.begin_replacement(path, Some(state)) {
            Ok(replacement) => Ok(self.table.push(replacement)?),
            Err(error) => Err(error),
        })
    }

    fn remove(&mut self, this: Resource<HeldFile>) -> Result<Result<(), Error>> {
        let (durability, held) = (self.durability(), self.table.get(&this)?);
        Ok((|| {
            let mount = self.files_mount(true)?;
            let (_, name) = split(&held.path)?;
            let now = State::of(&held.dir, name).map_err(|error| told(&held.path, error))?;
            let Some(state) = now else { return Err(told(&held.path, io::ErrorKind::NotFound.into())) };
            if now != held.state {
                return Err(changed(&held.path));
            }
            held.dir.remove_file(name).map_err(|error| told(&held.path, error))?;
            free(mount, state.size());
            if mount.tmp.is_none() {
                flush_directory(&held.dir, durability).map_err(|error| told(&held.path, error))?;
            }
            Ok(())
        })())
    }

    fn drop(&mut self, this: Resource<HeldFile>) -> Result<()> {
        self.table.delete(this)?;
        self.holding = None;
        Ok(())
    }
}

/// Puts the prepared file over what is there, with the attributes of what was there. False if that is not what it was to be.
fn put_in_place(mount: &Mount, replacement: &mut Replacement, dir: &Dir, name: &str, durability: Durability) -> io::Result<bool> {
    let incoming = &mut replacement.incoming;
    if let Some(old) = dir.symlink_metadata(name).ok().filter(Metadata::is_file) {
        keep_attributes(mount, dir, name, &old, &incoming.file)?;
    }
    // A name on disk before its contents would be an empty file after a power cut, and the next sync would pack that.
    if durability == Durability::Full {
        incoming.file.sync_data()?;
    }
    // After all that takes time: what happens between this look and the new name cannot be seen.
    let old = State::of(dir, name)?;
    if replacement.expected.is_some_and(|expected| old != expected) {
        return Ok(false);
    }
    match replacement.expected {
        // Somebody who does not ask for hold may have been quicker.
        Some(None) => match incoming.put_new(dir, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            other => other?,
        },
        Some(Some(_)) | None => incoming.put_over(dir, name)?,
    }
    if let Some(old) = old {
        free(mount, old.size());
    }
    // A session is flushed as a whole before its archive is written; a directory of the user's is what counts itself.
    if mount.tmp.is_none() {
        flush_directory(dir, durability)?;
    }
    Ok(true)
}

/// In a session only the mode is of interest, since an archive keeps nothing else. A user's file keeps its owner and lists too.
fn keep_attributes(mount: &Mount, dir: &Dir, name: &str, metadata: &Metadata, new: &File) -> io::Result<()> {
    if mount.tmp.is_none() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(old) = rustix::fs::openat(dir, name, flags, Mode::empty()) {
            let new = new.try_clone()?.into_std();
            attributes::keep(&std::fs::File::from(old), &new)?;
            // What makes a program run with more rights than its caller's is not for contents that a guest wrote.
            let _ = rustix::fs::fremovexattr(&new, "security.capability");
            return match metadata.mode() & 0o7000 {
                0 => Ok(()),
                _ => new.set_permissions(std::fs::Permissions::from_mode(metadata.mode() & 0o777)),
            };
        }
    }
    new.set_permissions(Permissions::from_mode(metadata.mode() & 0o777))
}

/// Notes that a file is gone.
fn free(mount: &Mount, bytes: u64) {
    if let Some(allowance) = &mount.allowance {
        let mut allowance = allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        allowance.free(Usage { bytes, files: 1 });
    }
}

fn busy(path: &str, patience: Duration) -> Error {
    let waited = patience.as_secs_f64();
    Failure::new(Class::Busy, "BUSY", format!("Somebody else is changing the directory of {path:?}; waited {waited:.1} s."))
        .suggest("Try again.")
        .into()
}

fn changed(path: &str) -> Error {
    Failure::new(Class::Conflict, "FILE_CHANGED", format!("{path:?} was changed by somebody else meanwhile."))
        .suggest("Read it again, and decide anew.")
        .into()
}

/// Opens the directory of a path beneath the workspace; the kernel or cap-std sees to it that it stays beneath.
fn open_parent(root: &Dir, parent: &str) -> io::Result<Dir> {
    if parent.is_empty() { root.try_clone() } else { root.open_dir(parent) }
}

fn split(path: &str) -> Result<(&str, &str), Error> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.is_empty() || name == "." || name == ".." || path.contains('\0') {
        return Err(Failure::invalid(format!("{path:?} does not name a file.")).into());
    }
    Ok((parent, name))
}

/// What the guest hears of a failure at a path.
fn told(path: &str, error: io::Error) -> Error {
    use io::ErrorKind as Kind;
    let failure = match error.kind() {
        Kind::NotFound => Failure::new(Class::NotFound, "PATH_NOT_FOUND", format!("{path:?} has no directory to be in.")),
        Kind::NotADirectory => Failure::invalid(format!("{path:?} leads through a file.")),
        Kind::IsADirectory => Failure::invalid(format!("{path:?} is a directory.")),
        Kind::PermissionDenied => Failure::new(Class::Forbidden, "PATH_TRAVERSAL", format!("{path:?} may not be used.")),
        Kind::QuotaExceeded | Kind::StorageFull => {
            let settings = "security.max_extracted_size_bytes, security.max_file_count, security.max_total_disk_bytes";
            Failure::limit(format!("There is no room for {path:?}: the session's quota ({settings}) or the disk is full."))
                .suggest("Delete files that are not needed, or raise the limit.")
        }
        Kind::InvalidFilename => Failure::invalid(format!("{path:?} has a name that is too long.")),
        _ => Failure::internal(format!("{path:?} cannot be written: {error}.")),
    };
    failure.into()
}
