//! The archives that are open on the host. Capability `sessions`, which only the bundled `zipfs` plugin has unless somebody
//! grants it.
//!
//! [`path`], [`status`], [`sync`] and [`close`] act on the session that the call was made for. In a unit test all of it fails:
//! there is no host.

use crate::Error;

pub use crate::bindings::plugin::zipfs::plugin::sessions::{
    Changes, Closed, Info, Opened, PruneChoice, Pruned, PrunedSession, Synced,
};

#[cfg(target_family = "wasm")]
use crate::bindings::plugin::zipfs::plugin::sessions as system;
#[cfg(not(target_family = "wasm"))]
use crate::testing::sessions as system;

/// Extracts the archive at an absolute path on the host into a new session.
pub fn open(path: &str, name: Option<&str>) -> Result<Opened, Error> {
    Ok(system::open(path, name)?)
}

/// All sessions that the caller may see, oldest first.
pub fn list() -> Result<Vec<Info>, Error> {
    Ok(system::list_sessions()?)
}

/// The host path of this session's files.
pub fn path() -> Result<String, Error> {
    Ok(system::path()?)
}

/// Compares this session's files with the archive.
pub fn status() -> Result<Changes, Error> {
    Ok(system::status()?)
}

/// Writes this session's changes back; the old archive is kept as a backup. A dry run only says what would be written.
pub fn sync(force: bool, dry_run: bool) -> Result<Synced, Error> {
    Ok(system::sync(force, dry_run)?)
}

/// Ends sessions without a sync, and removes what interrupted work left behind. A dry run only tells.
pub fn prune(choice: PruneChoice, dry_run: bool) -> Result<Pruned, Error> {
    Ok(system::prune(choice, dry_run)?)
}

/// What the archive holds under a path: the contents before any change that was not synced. `None` if it holds no file there.
pub fn original(path: &str, max_size: u64) -> Result<Option<Vec<u8>>, Error> {
    Ok(system::original(path, max_size)?)
}

/// Ends this session and removes its workspace, after a sync if asked for. If the sync fails the session stays. `None` leaves
/// it to the host's settings what happens to changes.
pub fn close(sync: Option<bool>) -> Result<Closed, Error> {
    Ok(system::close(sync)?)
}
