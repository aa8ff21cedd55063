//! What an author of a plugin has: a workbench to try it on, cases that it must pass, arguments that it must survive, and a
//! measure; and a project for a start.
//!
//! Everything goes through a gate of its own, in a directory that goes away, so that what holds here holds where the plugin is used.

pub mod cases;
pub mod examples;
pub mod findings;
pub mod hostile;
pub mod measure;
pub mod needs;
pub mod project;
pub mod scaffold;
pub mod sdk;
pub mod workbench;

pub use workbench::Workbench;
