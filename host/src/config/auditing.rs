//! How calls are written down: where, how much of it is kept, and what happens when it cannot be done.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// The directory of the log; `audit` in the data directory if absent.
    pub directory: Option<PathBuf>,
    /// What happens to a call that cannot be written down.
    pub on_failure: OnFailure,
    /// How the paths that calls name are written. A name can be a secret too.
    pub paths: Paths,
    /// A file that grew to this size is followed by another. 64 MiB are about 100,000 calls.
    /// Test: `functional::audit::the_log_is_rotated_and_the_chain_goes_on`.
    pub max_file_bytes: u64,
    /// Files that are kept; the oldest goes when there are more. Test: `functional::audit::the_log_is_rotated_and_the_chain_goes_on`.
    pub keep_files: u32,
    /// When lines are on disk for certain.
    pub flush: Flush,
    /// How often requests that are turned away before they become calls get a line, each kind at most one in this time: somebody
    /// without a token must not be able to fill the log. Test: `security::serve::accounts::a_flood_of_strangers_is_a_few_lines`.
    pub summary_ms: u64,
}

impl Default for Audit {
    fn default() -> Self {
        Audit {
            directory: None,
            on_failure: OnFailure::Refuse,
            paths: Paths::Plain,
            max_file_bytes: 64 << 20,
            keep_files: 16,
            flush: Flush::Batch,
            summary_ms: 60_000,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The call is refused before its tool runs: nothing happens that nobody can see.
    Refuse,
    /// The call runs, and the loss is said in the log on standard error.
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Paths {
    Plain,
    /// Their SHA-256: whoever knows a path can look for it.
    Hashed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flush {
    /// Every line, before the call is answered. Costs as much as the disk takes, milliseconds.
    Each,
    /// A server flushes once a second; what commands write, the kernel writes within half a minute. A crash of zipfs loses
    /// nothing, a power cut the last second's lines, which `audit verify` then says.
    Batch,
    Never,
}
