//! One tool per file: its description, its arguments, its result, and the function between them.

pub mod close;
pub mod delete;
pub mod diff;
pub mod grep;
pub mod ls;
pub mod open;
pub mod path;
pub mod prune;
pub mod read;
pub mod sessions;
pub mod status;
pub mod sync;
pub mod tree;
pub mod write;

/// For tools with long results: lets a client that otherwise cuts them at some ten thousand characters show all of it.
fn long_results() -> serde_json::Value {
    serde_json::json!({ "anthropic/maxResultSizeChars": 500_000 })
}
