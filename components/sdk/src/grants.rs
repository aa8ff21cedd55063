//! What this call may do beyond its workspace, for a plugin that wants to say what is missing before it tries.

use crate::Error;

pub use crate::bindings::plugin::zipfs::plugin::grants::Granted;

/// Everything that was granted and that the tool declares. Empty in a unit test.
#[cfg(target_family = "wasm")]
pub fn list() -> Vec<Granted> {
    crate::bindings::plugin::zipfs::plugin::grants::list_grants()
}

/// Everything that was granted and that the tool declares. Empty in a unit test.
#[cfg(not(target_family = "wasm"))]
pub fn list() -> Vec<Granted> {
    Vec::new()
}

/// Why the last thing was refused that this call tried, in the host's words.
#[cfg(target_family = "wasm")]
pub fn last_refusal() -> Option<Error> {
    crate::bindings::plugin::zipfs::plugin::grants::last_refusal().map(Error::from)
}

/// Why the last thing was refused that this call tried, in the host's words.
#[cfg(not(target_family = "wasm"))]
pub fn last_refusal() -> Option<Error> {
    None
}
