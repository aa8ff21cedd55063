//! MCP, in both eras, as clients speak it.

mod cancel;
mod conformance;
mod content;
mod eras;
mod input;
mod inspector;
mod list_changed;
mod rmcp_client;
mod stdio;
mod tasks;
mod validation;
