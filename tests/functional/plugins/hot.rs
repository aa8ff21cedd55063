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

/// A component whose one function does nothing, beside so much code that compiling it takes a second or more.
fn slow_to_compile() -> Vec<u8> {
    // Every function is different, and none can be left out: they are in a table that is exported.
    let mut functions = String::new();
    for number in 0..2_500 {
        functions += &format!("(func $f{number} (param i32) (result i32) local.get 0");
        for step in 0..400 {
            functions +=
                &format!(" i32.const {} i32.add local.get 0 i32.mul i32.const {} i32.xor", number * 7 + step, step * 3 + 1);
        }
        functions += ")";
    }
    let names: String = (0..2_500).map(|number| format!(" $f{number}")).collect();
    let text = format!(
        r#"(component
            (import "wasi:filesystem/types@0.2.0" (instance))
            (core module $m (table (export "t") 2500 funcref) (elem (i32.const 0) func{names}) (func (export "slow")) {functions})
            (core instance $i (instantiate $m))
            (func (export "slow") (canon lift (core func $i "slow"))))"#
    );
    wat::parse_str(text).expect("a component")
}

/// Removes the code that was made when plugins were admitted: as after an update of zipfs, it has to be made again.
fn forget_code(data: &std::path::Path) {
    for entry in std::fs::read_dir(data.join("cache")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "cwasm") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn code_is_compiled_before_the_session_is_locked() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "hello")]);
    let session = server.open(&archive);
    let file = server.data().join("slow.wasm");
    std::fs::write(&file, slow_to_compile()).unwrap();
    server.cli().ok(&["plugin", "add", "--yes", file.to_str().unwrap()]);
    session.call("zipfs_sync", json!({})).value();
    forget_code(server.data());
    let began = Instant::now();
    let compiling = server.begin("tools/call", json!({"name": "slow", "arguments": {"session": session.id}}));
    std::thread::sleep(Duration::from_millis(100));
    // A sync needs the session alone, a read a thread; neither waits for the compiler, and nor does a second call of another plugin.
    let others = Instant::now();
    std::fs::write(session.path.join("a.txt"), "changed").unwrap();
    session.call("zipfs_sync", json!({})).value();
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
    server.call("zipfs_sessions", json!({})).value();
    server.request("ping", json!({}));
    let others = others.elapsed();
    assert!(server.answer_now(compiling).is_none(), "the code was there before the others were done: nothing was shown");
    let answer = server.answer(compiling);
    let compiled = began.elapsed();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(compiled > Duration::from_secs(1), "the compiler took only {compiled:?}: nothing was shown");
    assert!(others < compiled / 2, "others waited {others:?} for the compiler, which took {compiled:?}");
    // The next call finds the code.
    let again = Instant::now();
    session.call("slow", json!({})).value();
    assert!(again.elapsed() < compiled / 4, "{:?}", again.elapsed());
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
