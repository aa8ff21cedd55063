//! What WASI's filesystem lacks: permission bits, and replacing a file in one step. Capability `files`.

use crate::Error;
use crate::path::WorkspacePath;

#[cfg(target_family = "wasm")]
use crate::bindings::plugin::zipfs::plugin::files as system;
#[cfg(not(target_family = "wasm"))]
use crate::testing::files as system;

/// A file on its way to replace another. Readers see the old one or the new one; dropped without
/// [`commit`](Replacement::commit), it leaves everything as it was.
pub struct Replacement(system::Replacement);

/// The most that crosses the boundary in one step, so that a large file needs no second copy of itself on the other side.
const CHUNK: usize = 1024 * 1024;

impl Replacement {
    /// Adds bytes at the end. They count against the session's quota as they are written.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        for chunk in bytes.chunks(CHUNK) {
            self.0.write(chunk)?;
        }
        Ok(())
    }

    /// Puts the file in its place. It keeps the mode of a file that was there.
    pub fn commit(self) -> Result<(), Error> {
        Ok(self.0.commit()?)
    }
}

/// Starts to replace or create the file at `path`. Its directory must exist.
pub fn replace(path: &WorkspacePath) -> Result<Replacement, Error> {
    Ok(Replacement(system::replace(path.as_str())?))
}

/// A file, or the place where there is none yet, that only this call changes for a while: nobody else replaces or removes a file
/// of its directory through this interface, in this process or another. Dropping it lets go.
pub struct HeldFile(system::HeldFile);

impl HeldFile {
    /// Starts to write what the file is to become. Committing it fails with class conflict if the file is not what it was when it
    /// was taken hold of; where there was none there must still be none.
    pub fn replace(&self) -> Result<Replacement, Error> {
        Ok(Replacement(self.0.replace()?))
    }

    /// Removes the file, under the same condition.
    pub fn remove(&self) -> Result<(), Error> {
        Ok(self.0.remove()?)
    }
}

/// Takes hold of the file at `path`, whose directory must exist. So a tool can read a file, decide, and change what it has read.
///
/// Waits for whoever has hold of it now. A call holds one file at a time.
pub fn hold(path: &WorkspacePath) -> Result<HeldFile, Error> {
    Ok(HeldFile(system::hold(path.as_str())?))
}

/// The permission bits of a file or directory.
pub fn mode(path: &WorkspacePath) -> Result<u32, Error> {
    Ok(system::get_mode(path.as_str())?)
}

/// Sets them. The host masks the mode to at most 0755 and at least 0600 (0700 for a directory).
pub fn set_mode(path: &WorkspacePath, mode: u32) -> Result<(), Error> {
    Ok(system::set_mode(path.as_str(), mode)?)
}
