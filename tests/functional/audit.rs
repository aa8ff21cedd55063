//! The audit log: a line for every call, and what can be done with them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Archive, Audited, Face, Plugin, Server, Serving, Web, Zipfs};

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn every_call_has_its_line_whatever_its_end() {
    let server = Server::with(json!({"calls": {"deadline_ms": 400}}));
    for guest in ["showcase", "spin", "trap", "sleep"] {
        server.add(guest);
    }
    let archive = Archive::of(&[("a.txt", "hi")]);
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    server.call("zipfs_read", json!({"path": "a.txt"})).value();
    server.call("zipfs_read", json!({"path": "b.txt"})).fails("PATH_NOT_FOUND");
    server.call("zipfs_read", json!({"pfad": "a.txt"})).fails("INVALID_PARAMS");
    server.call("zipfs_read", json!({"path": "a.txt", "session": "nobody"})).fails("SESSION_NOT_FOUND");
    server.call("trap", json!({})).fails("INTERNAL_ERROR");
    server.call("spin", json!({})).fails("TIMEOUT");
    assert!(server.request("tools/call", json!({"name": "no_such_tool", "arguments": {}})).get("error").is_some());
    let id = server.begin("tools/call", json!({"name": "sleep", "arguments": {}}));
    std::thread::sleep(Duration::from_millis(100));
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    std::thread::sleep(Duration::from_millis(200));
    server.cli().ok(&["call", "zipfs_read", "--arg", "path=a.txt"]);
    server.cli().fails(&["call", "zipfs_read", "--arg", "path=b.txt"], 1);
    // A client that goes away takes nothing with it.
    server.begin("tools/call", json!({"name": "sleep", "arguments": {}}));
    std::thread::sleep(Duration::from_millis(100));
    server.hang_up();

    let expected = [
        ("zipfs_open", "ok"),
        ("zipfs_read", "ok"),
        ("zipfs_read", "PATH_NOT_FOUND"),
        ("zipfs_read", "INVALID_PARAMS"),
        ("zipfs_read", "SESSION_NOT_FOUND"),
        ("trap", "INTERNAL_ERROR"),
        ("spin", "TIMEOUT"),
        ("no_such_tool", "UNKNOWN_TOOL"),
        ("sleep", "CANCELLED"),
        ("zipfs_read", "ok"),
        ("zipfs_read", "PATH_NOT_FOUND"),
    ];
    let log = Audited::of(server.data());
    let calls = log.calls();
    let told: Vec<(&str, &str)> = calls.iter().map(|(tool, outcome)| (tool.as_str(), outcome.as_str())).collect();
    assert_eq!(told[..expected.len()], expected);
    assert_eq!(told.len(), expected.len() + 1, "one line a call: {told:?}");
    assert!(["ABANDONED", "CANCELLED", "TIMEOUT"].contains(&told[expected.len()].1), "{told:?}");
    assert!(server.cli().ok(&["audit", "verify"]).contains("are whole"));
}

#[test]
fn a_line_says_who_did_what_to_what_and_nothing_of_what_was_said() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "hello"})).value();
    session.call("zipfs_write", json!({"path": "new/b.txt", "content": ""})).value();
    let result = session.call("zipfs_read", json!({"path": "a.txt"})).value();
    let lines = Audited::of(server.data()).lines();
    let [.., written, made, read] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(lines[0]["session"], json!(session.id), "opening a session names it");
    for (line, changed) in [
        (written, json!([{"path": "a.txt", "before": 2, "after": 5}])),
        (made, json!([{"path": "new/b.txt", "before": null, "after": 0}])),
    ] {
        assert_eq!(line["effects"], changed, "{line}");
    }
    assert!(read.get("effects").is_none(), "{read}");
    for (key, value) in [
        ("kind", json!("call")),
        ("principal", json!("local")),
        ("role", json!("admin")),
        ("transport", json!("stdio")),
        ("tool_name", json!("zipfs_read")),
        ("plugin", json!("zipfs")),
        ("session", json!(session.id)),
        ("paths", json!(["a.txt"])),
        ("outcome", json!("ok")),
        ("parameters_hash", json!(sha256(&json!({"path": "a.txt", "session": session.id}).to_string()))),
        ("result_hash", json!(sha256(&result.to_string()))),
        ("seq", json!(4)),
    ] {
        assert_eq!(read[key], value, "{key} in {read}");
    }
    assert_eq!(read["component"].as_str().map(str::len), Some(64));
    for duration in ["duration_us", "queue_us", "instantiate_us", "run_us"] {
        assert!(read[duration].as_u64().is_some_and(|micros| micros < 60_000_000), "{duration} in {read}");
    }
    assert!(read["timestamp"].as_str().unwrap().ends_with('Z'));
    // Each line has the hash of the one before, newline included; the first has zeros.
    let text = std::fs::read_to_string(&Audited::of(server.data()).files()[0]).unwrap();
    let mut before = "0".repeat(64);
    for line in text.split_inclusive('\n') {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["prev_hash"], json!(before));
        before = sha256(line);
    }
}

#[test]
fn questions_and_answers_are_entries_of_one_request() {
    let server = Server::on(Arc::new(tempfile::tempdir().unwrap()));
    server.handshake(json!({"elicitation": {}}));
    server.add("showcase");
    let id = server.begin("tools/call", json!({"name": "show_ask", "arguments": {}}));
    let asked = server.wait("a question", |message| message["method"] == "elicitation/create");
    server.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}));
    server.answer(id);
    let log = Audited::of(server.data());
    assert_eq!(log.calls(), [("show_ask", "input-required"), ("show_ask", "ok")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    let lines: Vec<Value> = log.lines().into_iter().filter(|line| line["kind"] == "call").collect();
    assert_eq!(lines[0]["request_id"], lines[1]["request_id"]);
    assert_eq!((lines[0].get("round"), lines[1]["round"].as_u64()), (None, Some(1)));
}

#[test]
fn a_trace_of_the_caller_is_named() {
    let server = Server::start();
    let meta = json!({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
    server.request("tools/call", json!({"name": "zipfs_sessions", "arguments": {}, "_meta": meta}));
    assert_eq!(Audited::of(server.data()).lines()[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

#[test]
fn the_log_is_rotated_and_the_chain_goes_on() {
    let config = json!({"audit": {"max_file_bytes": 16 << 10, "keep_files": 3}});
    let server = Server::with(config);
    for _ in 0..120 {
        server.call("zipfs_sessions", json!({})).value();
    }
    let log = Audited::of(server.data());
    assert_eq!(log.files().len(), 3);
    for file in log.files() {
        assert!(std::fs::metadata(&file).unwrap().len() <= 16 << 10, "{}", file.display());
    }
    let verdict: Value = serde_json::from_str(&server.cli().ok(&["audit", "verify", "--json"])).unwrap();
    assert!(verdict["first"].as_u64().unwrap() > 1, "{verdict}");
    assert!(verdict["last"].as_u64().unwrap() >= 120, "{verdict}");
    // Another process goes on with it.
    server.hang_up();
    server.cli().ok(&["sessions"]);
    server.cli().ok(&["audit", "verify"]);
}

#[test]
fn lines_are_flushed() {
    if !crate::support::have("strace", "audit lines are flushed") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let server = Server::traced("fdatasync", &trace);
    server.call("zipfs_sessions", json!({})).value();
    let until = Instant::now() + Duration::from_secs(10);
    while std::fs::read_to_string(&trace).unwrap_or_default().matches("fdatasync(").count() < 2 {
        assert!(Instant::now() < until, "neither lines nor head are flushed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_log_is_shown_exported_and_checked_at_the_shell() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    assert!(zipfs.ok(&["audit", "verify"]).contains("empty"));
    assert_eq!(zipfs.ok(&["audit", "tail"]), "");
    let archive = Archive::of(&[("a.txt", "hi")]);
    zipfs.ok(&["open", archive.path().to_str().unwrap(), "--name", "report"]);
    zipfs.ok(&["read", "report", "a.txt"]);
    zipfs.fails(&["read", "report", "b.txt"], 1);
    let shown = zipfs.ok(&["audit", "tail", "-n", "2"]);
    let rows: Vec<&str> = shown.lines().collect();
    assert_eq!(rows.len(), 2, "{shown}");
    assert!(rows[0].contains("local  cli  zipfs_read  ok") && rows[0].ends_with("a.txt"), "{shown}");
    assert!(rows[1].contains("PATH_NOT_FOUND"), "{shown}");
    let all = zipfs.ok(&["audit", "export"]);
    assert_eq!(all, std::fs::read_to_string(&Audited::of(data.path()).files()[0]).unwrap(), "the export is the log itself");
    let reads = zipfs.ok(&["audit", "export", "--tool", "zipfs_read", "--principal", "local"]);
    assert_eq!(reads.lines().count(), 2);
    assert_eq!(zipfs.ok(&["audit", "export", "--until", "2000-01-01T00:00:00Z"]), "");
    zipfs.fails(&["audit", "export", "--since", "yesterday"], 2);
    // The head of now is a way to see later that nothing was written anew.
    let verdict: Value = serde_json::from_str(&zipfs.ok(&["audit", "verify", "--json"])).unwrap();
    let head = format!("{}:{}", verdict["last"], verdict["hash"].as_str().unwrap());
    zipfs.ok(&["sessions"]);
    zipfs.ok(&["audit", "verify", "--head", &head]);
    zipfs.fails(&["audit", "verify", "--head", &format!("2:{}", "0".repeat(64))], 5);
    zipfs.fails(&["audit", "verify", "--head", &format!("999:{}", "0".repeat(64))], 5);
    zipfs.fails(&["audit", "verify", "--head", "nonsense"], 2);
}

#[test]
fn administrative_acts_are_written_down() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let noop = crate::support::guest("noop");
    zipfs.ok(&["plugin", "add", "--yes", noop.to_str().unwrap()]);
    assert!(!zipfs.run(&["plugin", "add", "--yes", noop.to_str().unwrap()]).status.success());
    assert!(!zipfs.run(&["plugin", "grant", "noop", "env=PASSWORD=hunter2"]).status.success());
    zipfs.ok(&["plugin", "remove", "noop"]);
    let token = zipfs.ok(&["token", "add", "ci", "--role", "viewer"]);
    zipfs.ok(&["token", "remove", "ci"]);
    zipfs.ok(&["plugin", "list"]);
    let log = Audited::of(data.path());
    let acts: Vec<Value> = log.lines().into_iter().filter(|line| line["kind"] == "admin").collect();
    let told: Vec<(&str, bool)> = acts.iter().map(|act| (act["tool_name"].as_str().unwrap(), act["outcome"] == "ok")).collect();
    let expected = [
        ("plugin-add", true),
        ("plugin-add", false),
        ("plugin-grant", false),
        ("plugin-remove", true),
        ("token-add", true),
        ("token-remove", true),
    ];
    assert_eq!(told, expected);
    assert_eq!(acts[1]["outcome"], "PLUGIN_EXISTS");
    assert_eq!(acts[4]["details"]["role"], "viewer");
    let kept = String::from_utf8_lossy(&log.bytes()).into_owned();
    let printed = token.split_whitespace().filter(|word| word.len() > 20);
    assert!(!kept.contains("hunter2") && printed.into_iter().all(|word| !kept.contains(word)), "{kept}");
    zipfs.ok(&["audit", "verify"]);
}

/// What was done to plugins, and what they did with what they were given.
#[test]
fn grants_updates_and_what_comes_in_are_written_down() {
    let server = Server::start();
    let (data, face) = (server.data(), Face::new(1));
    let file = face.write(&data.join("face.wasm"));
    server.cli().ok(&["plugin", "add", "--yes", file.to_str().unwrap()]);
    Face::new(1).version(2).write(&file);
    server.cli().ok(&["plugin", "update", "faces-00001"]);
    Face::new(1).version(3).saying('B').write(&file);
    server.cli().fails(&["plugin", "update", "faces-00001"], 5);
    server.cli().ok(&["plugin", "update", "faces-00001", "--approve"]);
    // One that a running server takes up, and one that it does not.
    let incoming = data.join("plugins/incoming");
    std::fs::create_dir_all(&incoming).unwrap();
    Face::new(2).write(&incoming.join("second.wasm"));
    std::fs::write(incoming.join("nonsense.wasm"), "hello").unwrap();
    let came_in = || {
        let lines = Audited::of(data).lines();
        lines.into_iter().filter(|line| line["tool_name"] == "plugin-incoming").collect::<Vec<_>>()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while came_in().len() < 2 {
        assert!(Instant::now() < until, "{:?}", came_in());
        std::thread::sleep(Duration::from_millis(100));
    }
    server.cli().ok(&["plugin", "remove", "faces-00001"]);
    let acts: Vec<Value> = Audited::of(data).lines().into_iter().filter(|line| line["kind"] == "admin").collect();
    let told = |what: &str| {
        let outcomes = acts.iter().filter(|act| act["tool_name"] == what).map(|act| act["outcome"].as_str().unwrap().to_owned());
        outcomes.collect::<Vec<_>>()
    };
    assert_eq!(told("plugin-add"), ["ok"]);
    assert_eq!(told("plugin-update"), ["ok", "UPDATE_HELD", "ok"]);
    assert_eq!(told("plugin-remove"), ["ok"]);
    let updates: Vec<&Value> = acts.iter().filter(|act| act["tool_name"] == "plugin-update").map(|act| &act["details"]).collect();
    assert_eq!((&updates[0]["plugin"], &updates[0]["approved"]), (&json!("faces-00001"), &json!(false)));
    assert_eq!(updates[2]["approved"], json!(true));
    let mut incoming: Vec<(Value, Value)> =
        came_in().iter().map(|line| (line["details"]["entry"].clone(), line["outcome"].clone())).collect();
    incoming.sort_by_key(|(entry, _)| entry.to_string());
    assert_eq!(incoming, [(json!("nonsense.wasm"), json!("PLUGIN_INVALID")), (json!("second.wasm"), json!("ok"))]);
    let taken = came_in().into_iter().find(|line| line["outcome"] == "ok").unwrap();
    assert_eq!(taken["details"]["plugin"], "faces-00002");
    assert_eq!(taken["details"]["digest"].as_str().unwrap().len(), 64);
    server.cli().ok(&["audit", "verify"]);
}

#[test]
fn what_a_call_did_with_its_grants_is_in_its_line() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("docs")).unwrap();
    std::fs::write(place.path().join("docs/a.txt"), "a").unwrap();
    let friend = Web::saying("hello");
    let server = Server::start();
    let effects = || {
        let mut calls = Audited::of(server.data()).lines().into_iter().filter(|line| line["kind"] == "call");
        calls.next_back().unwrap()["effects"].clone()
    };
    let archive = Archive::of(&[("a.txt", "hi")]);
    let _session = server.open(&archive);
    // A directory: what was done with it, and not what was in it.
    let tables = "[workspace]\naccess = \"write\"\n[[directory]]\nname = \"docs\"\nguest = \"/docs\"\naccess = \"write\"\n";
    Plugin::of("places", tables).add(server.data(), &[&format!("directory=docs:{}", place.path().join("docs").display())]);
    server.call("places_read", json!({"path": "/docs/a.txt"})).value();
    assert_eq!(effects(), json!([{"capability": "directory", "what": "read /docs", "refused": null}]));
    server.call("places_write", json!({"path": "/docs/b.txt", "text": "b"})).value();
    assert_eq!(effects(), json!([{"capability": "directory", "what": "write /docs", "refused": null}]));
    // A tool that counts as read-only writes nothing, so nothing is said of writing.
    server.call("places_write_read_only", json!({"path": "/docs/c.txt", "text": "c"})).failure();
    assert_eq!(effects(), Value::Null);
    // A host that was asked, with a secret; and one that was not.
    let tables =
        "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\n[[secret]]\nname = \"key\"\nheader = \"x-key\"\nhost = \"127.0.0.1\"\n";
    Plugin::of("web-secret", tables).add(server.data(), &[&format!("http=http://{}", friend.address)]);
    server.grant_secret("web-secret", "secret=key", "s3cr3t-T0ken");
    server.call("web_secret", json!({"url": friend.url("/path?token=1")})).value();
    let asked = json!({"capability": "http", "what": format!("GET http://{}", friend.address), "refused": null});
    assert_eq!(effects(), json!([asked, {"capability": "secret", "what": "key", "refused": null}]));
    server.call("web_secret", json!({"url": "http://127.0.0.1:1/"})).failure();
    assert_eq!(effects()[0]["refused"], "HTTP_REFUSED");
    // A variable is used by being there.
    Plugin::of("variables", "[[environment]]\nname = \"CITY\"\n").add(server.data(), &["env=CITY=Prague"]);
    server.call("variables", json!({"name": "CITY"})).value();
    assert_eq!(effects(), json!([{"capability": "environment", "what": "CITY", "refused": null}]));
    server.call("variables_undeclared", json!({"name": "CITY"})).value();
    assert_eq!(effects(), Value::Null);
    server.grant("variables", "env=CITY=Brno");
    server.revoke("variables", &["env=CITY"]);
    let lines = Audited::of(server.data()).lines();
    let acts: Vec<&str> =
        lines.iter().filter(|line| line["kind"] == "admin").filter_map(|line| line["tool_name"].as_str()).collect();
    assert_eq!(acts[acts.len() - 2..], ["plugin-grant", "plugin-revoke"]);
    let kept = String::from_utf8_lossy(&Audited::of(server.data()).bytes()).into_owned();
    for private in ["s3cr3t", "Prague", "Brno", "token=1"] {
        assert!(!kept.contains(private), "{private} is in the log");
    }
}

#[test]
fn every_transport_writes_into_the_one_log() {
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(Zipfs(data.path()).command());
    serving.call("zipfs_sessions", json!({}));
    serving.call("no_such_tool", json!({}));
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no.such.method", "params": {}}).to_string();
    let refused = serving.send("POST /", "Content-Type: application/json\r\n", &unknown);
    assert!(refused.contains("-32601"), "{refused}");
    Zipfs(data.path()).ok(&["sessions"]);
    let lines = Audited::of(data.path()).lines();
    let told: Vec<(&str, &str, &str)> = lines
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or_default();
            (text("transport"), text("tool_name"), text("outcome"))
        })
        .collect();
    let expected = [
        ("http", "zipfs_sessions", "ok"),
        ("http", "no_such_tool", "UNKNOWN_TOOL"),
        ("json-rpc", "no.such.method", "UNKNOWN_TOOL"),
        ("cli", "zipfs_sessions", "ok"),
    ];
    assert_eq!(told, expected);
    assert_eq!(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736", "from the header");
    Zipfs(data.path()).ok(&["audit", "verify"]);
}
