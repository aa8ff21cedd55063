//! The interface `sessions` in a unit test: there is no host to ask, and nothing here pretends to be one.

use crate::bindings::plugin::zipfs::plugin::sessions::{Changes, Closed, Info, Opened, PruneChoice, Pruned, Synced};
use crate::bindings::plugin::zipfs::plugin::types::Error;

pub(crate) fn open(_path: &str, _name: Option<&str>) -> Result<Opened, Error> {
    Err(needs_the_host())
}

pub(crate) fn list_sessions() -> Result<Vec<Info>, Error> {
    Err(needs_the_host())
}

pub(crate) fn path() -> Result<String, Error> {
    Err(needs_the_host())
}

pub(crate) fn status() -> Result<Changes, Error> {
    Err(needs_the_host())
}

pub(crate) fn sync(_force: bool, _dry_run: bool) -> Result<Synced, Error> {
    Err(needs_the_host())
}

pub(crate) fn close(_sync: Option<bool>) -> Result<Closed, Error> {
    Err(needs_the_host())
}

pub(crate) fn prune(_choice: PruneChoice, _dry_run: bool) -> Result<Pruned, Error> {
    Err(needs_the_host())
}

pub(crate) fn original(_path: &str, _max_size: u64) -> Result<Option<Vec<u8>>, Error> {
    Err(needs_the_host())
}

fn needs_the_host() -> Error {
    crate::Error::internal("HOST_NEEDED", "Sessions exist in the host only; a unit test has none.").into()
}
