//! What the tools do.

mod cli;
mod demo;
mod files;
mod golden;
mod links;
mod open;
mod sessions;
mod sync;
