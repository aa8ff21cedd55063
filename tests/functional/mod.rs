//! What the tools do.

mod attributes;
mod cli;
mod concurrent;
mod demo;
mod files;
mod golden;
mod grep;
mod names;
mod open;
mod prune;
mod sessions;
mod status;
mod sync;
mod workflow;
