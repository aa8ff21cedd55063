//! One transcript for each tool, success and each of its errors, as data beside this file: what is asked, and the whole answer.
//!
//! `UPDATE=1 cargo test --release golden` writes the answers anew. Read the difference before you commit it: the transcripts are
//! what clients rely on.

mod neutral;
mod transcript;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::Server;
use transcript::Transcript;

/// What every tool that works on a session can answer.
const OF_SESSIONS: [&str; 5] = ["NO_SESSIONS", "AMBIGUOUS_SESSION", "SESSION_NOT_FOUND", "LOCKED", "INVALID_PARAMS"];
const OF_PATHS: [&str; 2] = ["PATH_NOT_FOUND", "PATH_TRAVERSAL"];

/// Each tool with the errors of its own, which its transcript has to show.
const TOOLS: [(&str, &[&[&str]]); 14] = [
    (
        "zipfs_open",
        &[&[
            "ZIP_NOT_FOUND",
            "ZIP_INVALID",
            "ZIP_BOMB_DETECTED",
            "PATH_TRAVERSAL",
            "NAME_COLLISION",
            "LIMIT_EXCEEDED",
            "INVALID_PARAMS",
        ]],
    ),
    ("zipfs_close", &[&OF_SESSIONS, &["CONFLICT_DETECTED", "SYNC_FAILED", "ZIP_NOT_FOUND"]]),
    ("zipfs_ls", &[&OF_SESSIONS, &OF_PATHS]),
    ("zipfs_tree", &[&OF_SESSIONS, &OF_PATHS]),
    ("zipfs_read", &[&OF_SESSIONS, &OF_PATHS, &["LIMIT_EXCEEDED"]]),
    ("zipfs_write", &[&OF_SESSIONS, &OF_PATHS, &["LIMIT_EXCEEDED"]]),
    ("zipfs_delete", &[&OF_SESSIONS, &OF_PATHS]),
    ("zipfs_grep", &[&OF_SESSIONS, &OF_PATHS]),
    ("zipfs_diff", &[&OF_SESSIONS, &OF_PATHS, &["CONFLICT_DETECTED"]]),
    ("zipfs_path", &[&OF_SESSIONS, &["INTERNAL_ERROR"]]),
    ("zipfs_sync", &[&OF_SESSIONS, &["CONFLICT_DETECTED", "SYNC_FAILED", "ZIP_NOT_FOUND"]]),
    ("zipfs_status", &[&OF_SESSIONS, &["INTERNAL_ERROR"]]),
    ("zipfs_sessions", &[]),
    ("zipfs_prune", &[&["INVALID_PARAMS"]]),
];

fn play(tool: &str) {
    Transcript::read(&folder().join(format!("{tool}.golden"))).play();
}

/// One test for each tool, so that they run side by side and a failure names its tool.
macro_rules! transcripts {
    ($($tool:ident)*) => { $(#[test] fn $tool() { play(stringify!($tool)); })* };
}

transcripts! {
    zipfs_open zipfs_close zipfs_ls zipfs_tree zipfs_read zipfs_write zipfs_delete zipfs_grep zipfs_diff zipfs_path zipfs_sync
    zipfs_status zipfs_sessions zipfs_prune
}

#[test]
fn every_tool_has_a_transcript_of_success_and_of_each_of_its_errors() {
    let server = Server::start();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let listed: BTreeSet<&str> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected: BTreeMap<&str, BTreeSet<&str>> =
        TOOLS.iter().map(|(tool, codes)| (*tool, codes.iter().flat_map(|codes| codes.iter().copied()).collect())).collect();
    assert_eq!(listed, expected.keys().copied().collect());
    for (tool, codes) in expected {
        let shown = Transcript::read(&folder().join(format!("{tool}.golden"))).outcomes_of(tool);
        let missing: Vec<&str> = codes.into_iter().filter(|code| !shown.contains(*code)).collect();
        assert!(missing.is_empty(), "{tool}.golden does not show {missing:?}");
        assert!(shown.contains("ok"), "{tool}.golden shows no success");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/functional/golden")
}
