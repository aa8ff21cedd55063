//! Plugins at rest: what they say about themselves, what they were granted, where they are kept.
//!
//! Nothing here runs during a call. A plugin is admitted once ([`admission`]), kept with its description ([`store`]) and
//! what it was granted ([`grants`]), and offered through the [`registry`], which starting the host fills without running or compiling anything.

pub mod admission;
pub mod bundled;
pub mod describe;
pub mod description;
pub mod grants;
pub mod manifest;
pub mod places;
pub mod plugin;
pub mod registry;
pub mod secrets;
pub mod store;
pub mod typed;

pub use description::{Access, Description, Role, Tool, WorkspaceAccess};
pub use plugin::Plugin;
pub use registry::{Found, Registry};
