//! Telling clients that what the plugin offers is not what it was.

pub use crate::bindings::plugin::zipfs::plugin::changes::Changed;

/// Says that something changed. Clients that listen ask anew; each list is announced once in a call.
pub fn announce(what: &Changed) {
    #[cfg(target_family = "wasm")]
    crate::bindings::plugin::zipfs::plugin::changes::announce(what);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::stage::with(|stage| stage.changes.push(what.clone()));
}
