//! Plugins at rest: what they say about themselves, what they were granted, where they are kept.
//!
//! Nothing here runs during a call. A plugin comes from a [`source`], is admitted once ([`admission`]), kept with its description
//! ([`store`]) and what it was granted ([`grants`]), and offered through the [`registry`], which starting the host fills without
//! running or compiling anything.

pub mod admission;
pub mod anatomy;
pub mod bundled;
pub mod cache;
pub mod derived;
pub mod describe;
pub mod description;
pub mod difference;
pub mod grants;
pub mod incoming;
pub mod manifest;
pub mod mistaken;
pub mod others;
pub mod places;
pub mod plugin;
pub mod registry;
pub mod secrets;
pub mod signature;
pub mod signing;
pub mod source;
pub mod store;
pub mod typed;
pub mod wasmcp;

pub use description::{Access, Description, Role, Tool, WorkspaceAccess};
pub use plugin::Plugin;
pub use registry::{Found, Registry};
