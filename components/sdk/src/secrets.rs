//! Secrets by name. Capability `secret`.
//!
//! One that `plugin.toml` gives a `header` is sent by the host with each request to its host, and is not to be had here.

use crate::Error;

#[cfg(target_family = "wasm")]
use crate::bindings::plugin::zipfs::plugin::secrets as system;
#[cfg(not(target_family = "wasm"))]
use crate::testing::secrets as system;

/// The secrets that this call has, both kinds.
pub fn names() -> Vec<String> {
    system::names()
}

/// Whether there is one of this name, so that a tool can say what is missing.
pub fn has(name: &str) -> bool {
    names().iter().any(|known| known == name)
}

/// The bytes of one that the manifest gives no header. Do not put them into results, logs or files.
pub fn reveal(name: &str) -> Result<Vec<u8>, Error> {
    Ok(system::reveal(name)?)
}
