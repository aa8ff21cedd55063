//! What the tools do.

mod cli;
mod demo;
mod files;
mod golden;
mod open;
mod sessions;
mod sync;
