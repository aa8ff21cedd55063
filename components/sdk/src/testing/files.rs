//! The interface `files` in a unit test: the same rules as the host's, on the bench's directory.

use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, Permissions};

use super::stage;
use crate::bindings::plugin::zipfs::plugin::types::Error;
use crate::fs::IoError;

/// A file outside the workspace, to be renamed into it.
pub(crate) struct Replacement {
    file: RefCell<File>,
    staging: Dir,
    staged: String,
    workspace: Dir,
    path: String,
    /// What has to be there still when it is committed, if it came from a file that is held.
    expected: Option<Seen>,
}

/// What tells one state of a file from another; `None` is that there is none.
type Seen = Option<(u64, cap_std::time::SystemTime)>;

/// A file that one call works on. On the bench there is no other.
pub(crate) struct HeldFile {
    path: String,
    seen: Seen,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) fn replace(path: &str) -> Result<Replacement, Error> {
    let workspace = writable()?;
    let staging = stage::with(|stage| stage.staging.try_clone()).expect("writable() found a stage").map_err(at(path))?;
    let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
    let found = workspace.metadata(parent).map_err(at(parent))?;
    if !found.is_dir() {
        return Err(IoError::NotDir.at(parent).into());
    }
    if workspace.metadata(path).is_ok_and(|found| found.is_dir()) {
        return Err(IoError::IsDir.at(path).into());
    }
    let staged = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
    let file = RefCell::new(staging.create(&staged).map_err(at(path))?);
    Ok(Replacement { file, staging, staged, workspace, path: path.to_owned(), expected: None })
}

pub(crate) fn hold(path: &str) -> Result<HeldFile, Error> {
    let workspace = writable()?;
    let parent = path.rsplit_once('/').map_or(".", |(parent, _)| parent);
    if !workspace.metadata(parent).map_err(at(parent))?.is_dir() {
        return Err(IoError::NotDir.at(parent).into());
    }
    Ok(HeldFile { path: path.to_owned(), seen: seen(&workspace, path)? })
}

fn seen(workspace: &Dir, path: &str) -> Result<Seen, Error> {
    match workspace.symlink_metadata(path) {
        Ok(found) => Ok(Some((found.len(), found.modified().map_err(at(path))?))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

fn check_seen(workspace: &Dir, path: &str, expected: Seen) -> Result<(), Error> {
    if seen(workspace, path)? == expected {
        return Ok(());
    }
    Err(crate::Error::conflict("FILE_CHANGED", format!("'{path}' was changed meanwhile.")).into())
}

impl HeldFile {
    pub(crate) fn replace(&self) -> Result<Replacement, Error> {
        let mut replacement = replace(&self.path)?;
        replacement.expected = Some(self.seen);
        Ok(replacement)
    }

    pub(crate) fn remove(&self) -> Result<(), Error> {
        let workspace = writable()?;
        check_seen(&workspace, &self.path, self.seen)?;
        workspace.remove_file(&self.path).map_err(at(&self.path))
    }
}

impl Replacement {
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        self.file.borrow_mut().write_all(bytes).map_err(at(&self.path))
    }

    pub(crate) fn commit(&self) -> Result<(), Error> {
        if let Some(expected) = self.expected {
            check_seen(&self.workspace, &self.path, expected)?;
        }
        if let Ok(found) = self.workspace.metadata(&self.path) {
            self.file.borrow().set_permissions(found.permissions()).map_err(at(&self.path))?;
        }
        self.staging.rename(&self.staged, &self.workspace, &self.path).map_err(at(&self.path))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a commit there is nothing to remove.
        let _ = self.staging.remove_file(&self.staged);
    }
}

pub(crate) fn get_mode(path: &str) -> Result<u32, Error> {
    let found = mounted()?.0.metadata(path).map_err(at(path))?;
    Ok(mode_of(&found.permissions()))
}

pub(crate) fn set_mode(path: &str, mode: u32) -> Result<(), Error> {
    let workspace = writable()?;
    let found = workspace.metadata(path).map_err(at(path))?;
    let least = if found.is_dir() { 0o700 } else { 0o600 };
    workspace.set_permissions(path, with_mode(found.permissions(), mode & 0o755 | least)).map_err(at(path))
}

/// The workspace and whether it may be changed, if the tool declared that it uses `files`.
fn mounted() -> Result<(Dir, bool), Error> {
    let refused = |message| Error::from(crate::Error::forbidden("CAPABILITY_DENIED", message));
    let found =
        stage::with(|stage| (stage.capabilities.contains(&"files"), stage.mounted.as_ref().map(Dir::try_clone), stage.writable));
    match found {
        Some((true, Some(dir), writable)) => Ok((dir.map_err(at("/workspace"))?, writable)),
        Some((true, None, _)) => Err(refused("The tool declares no access to the workspace.")),
        Some((false, ..)) => Err(refused("The tool does not declare that it uses 'files'.")),
        None => Err(refused("There is no workspace outside of a bench.")),
    }
}

fn writable() -> Result<Dir, Error> {
    match mounted()? {
        (dir, true) => Ok(dir),
        (_, false) => Err(IoError::NotPermitted.at("/workspace").into()),
    }
}

fn at(path: &str) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| IoError::from(error).at(path).into()
}

#[cfg(unix)]
fn mode_of(permissions: &Permissions) -> u32 {
    use cap_std::fs::PermissionsExt;
    permissions.mode() & 0o7777
}

#[cfg(unix)]
fn with_mode(mut permissions: Permissions, mode: u32) -> Permissions {
    use cap_std::fs::PermissionsExt;
    permissions.set_mode(mode);
    permissions
}

/// Other systems know only read-only or not.
#[cfg(not(unix))]
fn mode_of(permissions: &Permissions) -> u32 {
    if permissions.readonly() { 0o555 } else { 0o755 }
}

#[cfg(not(unix))]
fn with_mode(permissions: Permissions, _: u32) -> Permissions {
    permissions
}
