//! zipfs: a tool host for AI agents.
//!
//! It speaks MCP on one side and runs every tool as a WebAssembly component on the other. A tool gets one directory, the
//! workspace of the session it was called for, and nothing else. Start reading at [`gate`].

pub mod audit;
pub mod author;
pub mod cli;
pub mod config;
pub mod failure;
pub mod gate;
pub mod observe;
pub mod plugins;
pub mod sandbox;
pub mod server;
pub mod workspace;
