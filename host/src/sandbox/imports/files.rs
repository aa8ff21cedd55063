//! `files`: replacing a file in one step, and modes: what WASI's filesystem lacks.

use std::io::{self, Write};

use cap_std::fs::{Dir, File, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use wasmtime::Result;
use wasmtime::component::Resource;

use crate::config::Durability;
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::bindings::plugin::zipfs::plugin::files::{Host, HostReplacement};
use crate::sandbox::bindings::types::Error;
use crate::sandbox::guest::{Guest, Mount};
use crate::sandbox::metered::charge;
use crate::workspace::extracted::masked_mode;
use crate::workspace::quota::Usage;

/// A file that is being written in the workspace's `tmp/`, to become the one at `path`.
pub struct Replacement {
    file: File,
    tmp: Dir,
    name: String,
    path: String,
    written: u64,
    done: bool,
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.tmp.remove_file(&self.name);
        }
    }
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
        let started = (|| {
            let mount = self.files_mount(true)?;
            let tmp = mount.tmp.as_ref().ok_or_else(|| Failure::internal("There is no place to prepare files."))?;
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
            let name = uuid::Uuid::new_v4().simple().to_string();
            let file = tmp
                .open_with(&name, OpenOptions::new().write(true).create_new(true).mode(0o644))
                .map_err(|error| told(&path, error))?;
            let tmp = tmp.try_clone().map_err(|error| told(&path, error))?;
            Ok(Replacement { file, tmp, name, path, written: 0, done: false })
        })();
        Ok(match started {
            Ok(replacement) => Ok(self.table.push(replacement)?),
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
            replacement.file.write_all(&bytes).map_err(|error| told(&replacement.path, error))?;
            replacement.written += needed.bytes;
            Ok(())
        })())
    }

    fn commit(&mut self, this: Resource<Replacement>) -> Result<Result<(), Error>> {
        let replacement = self.table.get_mut(&this)?;
        if std::mem::replace(&mut replacement.done, true) {
            return Ok(Err(Failure::invalid("This replacement was already committed.").into()));
        }
        let Some(mount) = &self.call.mount else { return Ok(Err(Failure::internal("The workspace is gone.").into())) };
        let durability = self.call.workspace.as_ref().map_or(Durability::Full, |workspace| workspace.durability);
        let committed = put_in_place(mount, replacement, durability).map_err(|error| told(&replacement.path, error));
        if committed.is_err() {
            replacement.done = false;
        }
        Ok(committed)
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

/// Renames the prepared file over what is there, with the mode of what was there.
fn put_in_place(mount: &Mount, replacement: &Replacement, durability: Durability) -> io::Result<()> {
    let (parent, name) = split(&replacement.path).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let dir = open_parent(&mount.dir, parent)?;
    let old = dir.symlink_metadata(name).ok();
    if let Some(old) = &old
        && old.is_file()
    {
        replacement.file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    // A name on disk before its contents would be an empty file after a power cut, and the next sync would pack that.
    if durability == Durability::Full {
        replacement.file.sync_data()?;
    }
    replacement.tmp.rename(&replacement.name, &dir, name)?;
    if let (Some(old), Some(allowance)) = (old, &mount.allowance) {
        let mut allowance = allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        allowance.free(Usage { bytes: old.size(), files: 1 });
    }
    Ok(())
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
