//! `zipfs_sessions`, `zipfs_path`, `zipfs_close`, and which session is meant.

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn the_only_session_need_not_be_named() {
    let server = Server::start();
    server.call("zipfs_ls", json!({})).fails("NO_SESSIONS");
    let archive = Archive::of(&[("a.txt", "1")]);
    let first = server.open(&archive);
    server.call("zipfs_ls", json!({})).value();
    let second = server.open(&archive);
    let message = server.call("zipfs_ls", json!({})).fails("AMBIGUOUS_SESSION");
    assert!(message.contains(&first.id) && message.contains(&second.id), "{message}");
    for wanted in [first.id.as_str(), &first.id[..8], &first.id.to_uppercase()] {
        server.call("zipfs_path", json!({"session": wanted})).is(json!({"path": first.path}));
    }
    server.call("zipfs_ls", json!({"session": "nobody"})).fails("SESSION_NOT_FOUND");
    server.call("zipfs_ls", json!({"session": &first.id[..3]})).fails("SESSION_NOT_FOUND");
    server.call("zipfs_ls", json!({"session": 7})).fails("INVALID_PARAMS");
}

#[test]
fn the_beginning_of_several_ids_is_ambiguous() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let ids = ["aaaa1111-0000-4000-8000-000000000000", "aaaa2222-0000-4000-8000-000000000000"];
    for id in ids {
        // Ids are random; these two are made to begin alike.
        let opened = server.open(&archive);
        let home = opened.path.parent().unwrap();
        let metadata = std::fs::read_to_string(home.join("metadata.json")).unwrap();
        std::fs::write(home.join("metadata.json"), metadata.replace(&opened.id, id)).unwrap();
        std::fs::rename(home, home.with_file_name(id)).unwrap();
    }
    let message = server.call("zipfs_ls", json!({"session": "aaaa"})).fails("AMBIGUOUS_SESSION");
    assert!(ids.iter().all(|id| message.contains(id)), "{message}");
    server.call("zipfs_ls", json!({"session": "AAAA2"})).value();
    server.call("zipfs_ls", json!({"session": "aaa"})).fails("SESSION_NOT_FOUND");
}

#[test]
fn sessions_are_listed_with_all_keys() {
    let server = Server::start();
    server.call("zipfs_sessions", json!({})).is(json!({"sessions": []}));
    let archive = Archive::of(&[("a.txt", "123")]);
    let opened = server.call("zipfs_open", json!({"path": archive.path(), "name": "n"})).value();
    let listed = server.call("zipfs_sessions", json!({})).value();
    let session = &listed["sessions"][0];
    assert_eq!(session["id"], opened["session_id"]);
    assert_eq!(session["name"], "n");
    assert_eq!(session["source_path"], json!(archive.path()));
    assert_eq!(session["state"], "open");
    assert_eq!((&session["file_count"], &session["extracted_size_bytes"]), (&json!(1), &json!(3)));
    for time in ["created_at", "last_accessed_at"] {
        assert!(session[time].as_str().unwrap().ends_with('Z'), "{session}");
    }
}

#[test]
fn close_removes_the_session_and_counts_what_it_discards() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2")]);
    let before = std::fs::read(archive.path()).unwrap();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    session.call("zipfs_write", json!({"path": "new.txt", "content": "new"})).value();
    let closed = session.call("zipfs_close", json!({})).value();
    assert_eq!((&closed["closed"], &closed["synced"], &closed["discarded_changes"]), (&json!(true), &json!(false), &json!(2)));
    assert!(!session.path.exists());
    session.call("zipfs_ls", json!({})).fails("SESSION_NOT_FOUND");
    assert_eq!(std::fs::read(archive.path()).unwrap(), before);
}

#[test]
fn close_with_sync_writes_the_archive_first() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    let closed = session.call("zipfs_close", json!({"sync": true})).value();
    assert_eq!((&closed["closed"], &closed["synced"]), (&json!(true), &json!(true)));
    assert_eq!(archive.read()["a.txt"], b"changed");
}

#[test]
fn a_sync_that_fails_keeps_the_session() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "mine"})).value();
    std::fs::write(archive.path(), crate::support::zip(&[("a.txt", "theirs")])).unwrap();
    session.call("zipfs_close", json!({"sync": true})).fails("CONFLICT_DETECTED");
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
}

#[test]
fn a_server_and_a_command_share_sessions() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "from the archive")]));
    let read = server.cli().ok(&["call", "zipfs_read", "--arg", "path=a.txt"]);
    assert!(read.contains("from the archive"), "{read}");
    server.cli().ok(&["call", "zipfs_write", "--arg", "path=b.txt", "--arg", "content=from the command line"]);
    let seen = session.call("zipfs_read", json!({"path": "b.txt"})).value();
    assert_eq!(seen["content"], "from the command line");
}

#[test]
fn a_busy_session_is_locked_and_says_so() {
    let server = Server::with(json!({"defaults": {"lock_timeout_ms": 200}}));
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let lock = std::fs::File::open(session.path.parent().unwrap().join("metadata.json.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    session.call("zipfs_read", json!({"path": "a.txt"})).fails("LOCKED");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).unwrap();
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
    session.call("zipfs_close", json!({})).fails("LOCKED");
    drop(lock);
    session.call("zipfs_close", json!({})).value();
}

#[test]
fn closing_with_changes_can_be_refused_by_a_setting() {
    let server = Server::with(json!({"defaults": {"close_unsaved": "refuse"}}));
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    session.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    let message = session.call("zipfs_close", json!({})).fails("INVALID_PARAMS");
    assert!(message.contains("sync=true") && message.contains("sync=false"), "{message}");
    session.call("zipfs_close", json!({"sync": false})).value();
}
