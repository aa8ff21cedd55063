//! Plugins come, change and go while servers run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Archive, Face, Server, Zipfs};

fn version(answer: &Value) -> &str {
    answer["result"]["structuredContent"]["version"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_call_ends_on_the_version_it_began_with_and_the_next_finds_the_new_one() {
    let server = Server::start();
    let file = Face::new(1).write(&server.data().join("face.wasm"));
    server.cli().ok(&["plugin", "add", "--yes", file.to_str().unwrap()]);
    server.wait("the news", |message| message["method"] == "notifications/tools/list_changed");
    assert_eq!(version(&server.request("tools/call", json!({"name": "faces_00001", "arguments": {}}))), "10000.0.0");
    let running = server.begin("tools/call", json!({"name": "faces_00001", "arguments": {"wait": 3000}}));
    std::thread::sleep(Duration::from_millis(300));
    Face::new(1).version(2).write(&file);
    server.cli().ok(&["plugin", "update", "faces-00001"]);
    // Without waiting for any news.
    assert_eq!(version(&server.request("tools/call", json!({"name": "faces_00001", "arguments": {}}))), "20000.0.0");
    assert_eq!(version(&server.answer(running)), "10000.0.0");
    // The same when it is removed.
    let running = server.begin("tools/call", json!({"name": "faces_00001", "arguments": {"wait": 2000}}));
    std::thread::sleep(Duration::from_millis(300));
    server.cli().ok(&["plugin", "remove", "faces-00001"]);
    assert_eq!(server.request("tools/call", json!({"name": "faces_00001", "arguments": {}}))["error"]["code"], -32602);
    assert_eq!(version(&server.answer(running)), "20000.0.0");
}

#[test]
fn a_change_is_told_to_clients_once() {
    let server = Server::start();
    let file = Face::new(1).write(&server.data().join("face.wasm"));
    server.cli().ok(&["plugin", "add", "--yes", file.to_str().unwrap()]);
    let news = |message: &Value| message["method"] == "notifications/tools/list_changed";
    server.wait("the news", news);
    Face::new(1).version(2).saying('B').write(&file);
    server.cli().ok(&["plugin", "update", "faces-00001", "--approve"]);
    server.wait("the news of the update", news);
    assert!(server.request("tools/list", json!({}))["result"]["tools"].to_string().contains("Face B."));
    std::thread::sleep(Duration::from_millis(1200));
    server.request("ping", json!({}));
    assert!(!server.others().iter().any(news), "told twice");
}

#[test]
fn code_is_compiled_before_the_session_is_locked() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "hello")]);
    let session = server.open(&archive);
    server.add("read-only");
    // As after an update of zipfs: the code has to be made again. The component is made large, so that this takes a while.
    for entry in std::fs::read_dir(server.data().join("cache")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "cwasm") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let compiling = server.begin("tools/call", json!({"name": "read_only", "arguments": {"session": session.id}}));
    // A sync needs the session alone: it does not wait for the compiler.
    let began = Instant::now();
    session.call("zipfs_sync", json!({})).value();
    let synced = began.elapsed();
    server.answer(compiling);
    let compiled = began.elapsed();
    assert!(synced < Duration::from_secs(2), "a sync waited {synced:?} for the compiler ({compiled:?})");
}

#[test]
fn other_servers_on_the_same_data_hear_of_it_too() {
    let first = Server::start();
    let second = Server::on(first.data_handle());
    second.handshake(json!({}));
    let file = Face::new(1).write(&first.data().join("face.wasm"));
    Zipfs(first.data()).ok(&["plugin", "add", "--yes", file.to_str().unwrap()]);
    for server in [&first, &second] {
        server.wait("the news", |message| message["method"] == "notifications/tools/list_changed");
        assert_eq!(version(&server.request("tools/call", json!({"name": "faces_00001", "arguments": {}}))), "10000.0.0");
    }
}
