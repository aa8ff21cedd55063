//! Who is on the other end of the running call.

/// What the client can do for a tool that asks questions.
pub use crate::bindings::plugin::zipfs::plugin::client::Abilities;

/// The client's abilities. All false where there is no client.
pub fn abilities() -> Abilities {
    #[cfg(target_family = "wasm")]
    return crate::bindings::plugin::zipfs::plugin::client::get_abilities();
    #[cfg(not(target_family = "wasm"))]
    return crate::testing::stage::with(|stage| stage.abilities).unwrap_or(Abilities {
        elicitation: false,
        sampling: false,
        roots: false,
    });
}

/// The revision of MCP in use, as in `2025-11-25`; empty where there is none.
pub fn revision() -> String {
    #[cfg(target_family = "wasm")]
    return crate::bindings::plugin::zipfs::plugin::client::get_revision();
    #[cfg(not(target_family = "wasm"))]
    return String::new();
}
