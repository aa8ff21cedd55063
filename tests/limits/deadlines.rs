//! How long a call may take, by which setting, and what it says when that is over.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn a_search_has_a_deadline_of_its_own() {
    let server = Server::with(json!({"security": {"regex_timeout_ms": 10, "max_compression_ratio": 2000}}));
    let archive = Archive::of(&[("a.txt", &"ab".repeat(20_000_000)), ("b.txt", "needle\n")]);
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    let began = Instant::now();
    // Each byte of the long line has to be looked at, and by hundreds of ways at once.
    let message = server.call("zipfs_grep", json!({"pattern": "[ab]*c", "path": "a.txt"})).fails("TIMEOUT");
    assert!(message.contains("security.regex_timeout_ms"), "{message}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(server.call("zipfs_read", json!({"path": "b.txt"})).value()["content"], "needle\n");
}
