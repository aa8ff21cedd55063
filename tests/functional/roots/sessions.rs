//! The same tools on the workspace of a session: an agent edits inside an archive, and its edits are checked by hashes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{add, hash_of};
use crate::support::{Archive, Server};

fn server() -> Server {
    let data = Arc::new(tempfile::tempdir().expect("a data directory"));
    add(data.path(), "rootspace", &[]);
    add(data.path(), "fs", &[]);
    let server = Server::on(data);
    server.handshake(json!({}));
    server
}

#[test]
fn files_of_an_archive_are_edited_by_hashes() {
    let server = server();
    let archive = Archive::of(&[("docs/a.md", "one\ntwo\n"), ("b.bin", "x")]);
    let session = server.open(&archive);
    let read = session.call("text.read", json!({"path": "/docs/a.md"})).value();
    let edit = json!({"path": "docs/a.md", "hash": read["hash"], "lines": [2, 3], "old": "two", "new": "2"});
    let edited = session.call("text.replace", edit.clone()).value();
    assert_eq!(edited["hash"], hash_of(&session.path.join("docs/a.md")));
    session.call("text.replace", edit).fails("STALE_HASH");
    session.call("file.create", json!({"path": "new/c.md", "content": "c"})).value();
    session.call("file.remove", json!({"path": "b.bin", "hash": hash_of(&session.path.join("b.bin"))})).value();
    server.call("zipfs_sync", json!({})).value();
    let packed = archive.read();
    assert_eq!(packed["docs/a.md"], b"one\n2\n");
    assert_eq!(packed["new/c.md"], b"c");
    assert!(!packed.contains_key("b.bin"));
}

#[test]
fn the_session_is_chosen_as_for_every_tool() {
    let server = server();
    server.call("text.read", json!({"path": "a"})).fails("NO_SESSIONS");
    let (first, second) = (Archive::of(&[("a", "1")]), Archive::of(&[("a", "2")]));
    let (first, second) = (server.open(&first), server.open(&second));
    server.call("text.read", json!({"path": "a"})).fails("AMBIGUOUS_SESSION");
    assert_eq!(first.call("text.read", json!({"path": "a"})).value()["content"], "1");
    assert_eq!(second.call("fs.readFile", json!({"path": "a"})).0["result"]["content"][0]["text"], "2");
}

#[test]
fn mcp_020_the_only_session_is_listed() {
    let server = server();
    let archive = Archive::of(&[("docs/a.md", "x"), ("top", "")]);
    let _session = server.open(&archive);
    let read = server.request("resources/read", json!({"uri": "list://"}));
    let listed: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().expect("a text")).unwrap();
    let expected = json!([{"type": "directory", "name": "docs"}, {"type": "file", "name": "top"}]);
    assert_eq!(listed["entries"], expected);
}

#[test]
fn a_write_by_another_tool_makes_a_hash_stale() {
    let server = server();
    let archive = Archive::of(&[("a", "one\n")]);
    let session = server.open(&archive);
    let hash = session.call("text.read", json!({"path": "a"})).value()["hash"].clone();
    session.call("zipfs_write", json!({"path": "a", "content": "two\n"})).value();
    session.call("text.append", json!({"path": "a", "hash": hash, "content": "x"})).fails("STALE_HASH");
}
