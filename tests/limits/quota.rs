//! Disk: what a session may hold, at opening and later.

use serde_json::json;

use crate::support::{Archive, Server};

fn server() -> Server {
    Server::with(json!({"security": {"max_extracted_size_bytes": 1 << 20, "max_file_count": 10}}))
}

#[test]
fn writes_stop_at_the_quota_and_go_on_after_a_deletion() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let half = "x".repeat(600 << 10);
    session.call("zipfs_write", json!({"path": "one", "content": half})).value();
    let message = session.call("zipfs_write", json!({"path": "two", "content": half})).fails("LIMIT_EXCEEDED");
    assert!(!message.is_empty());
    assert!(!session.path.join("two").exists());
    session.call("zipfs_delete", json!({"path": "one"})).value();
    session.call("zipfs_write", json!({"path": "two", "content": half})).value();
}

#[test]
fn files_are_counted() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let made = (0..20)
        .take_while(|n| session.call("zipfs_write", json!({"path": format!("f{n}"), "content": ""})).0["result"]["isError"] != true)
        .count();
    assert_eq!(made, 9);
    session.call("zipfs_write", json!({"path": "d/e/f", "content": ""})).fails("LIMIT_EXCEEDED");
    // Replacing one is not making one more, once there is room to prepare it.
    session.call("zipfs_delete", json!({"path": "f0"})).value();
    for _ in 0..5 {
        session.call("zipfs_write", json!({"path": "f1", "content": "again"})).value();
    }
}

#[test]
fn files_put_there_by_others_are_seen_before_anybody_is_refused() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    session.call("zipfs_write", json!({"path": "one", "content": "x".repeat(900 << 10)})).value();
    std::fs::remove_file(session.path.join("one")).unwrap();
    session.call("zipfs_write", json!({"path": "two", "content": "x".repeat(900 << 10)})).value();
}

#[test]
fn two_processes_share_one_quota() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    session.call("zipfs_write", json!({"path": "one", "content": "x".repeat(700 << 10)})).value();
    let arguments = json!({"path": "two", "content": "x".repeat(50 << 10)}).to_string();
    server.cli().ok(&["call", "zipfs_write", "--json", &arguments]);
    let larger = json!({"path": "three", "content": "x".repeat(100 << 10)}).to_string();
    server.cli().ok(&["call", "zipfs_write", "--json", &larger]);
    session.call("zipfs_write", json!({"path": "four", "content": "x".repeat(300 << 10)})).fails("LIMIT_EXCEEDED");
}
