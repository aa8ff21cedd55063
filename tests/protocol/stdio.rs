//! The pipe itself: bad lines, long lines, and the end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Archive, Server, Zipfs};

#[test]
fn bad_lines_do_not_end_the_server() {
    let server = Server::start();
    server.send_raw(b"this is not JSON\n");
    server.send_raw(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\n");
    server.send_raw(b"\xff\xfe\x00\n");
    server.send_raw(b"[]\n");
    server.send_raw(b"\n");
    server.send_raw(br#"{"jsonrpc":"2.0","id":"half","method":"pi"#);
    std::thread::sleep(Duration::from_millis(50));
    server.send_raw(b"ng\"}\n");
    server.wait("the answer to the line that came in halves", |message| message["id"] == "half");
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_line_of_sixteen_megabytes_does_not_end_the_server() {
    let server = Server::start();
    let mut line = vec![b'x'; 17 << 20];
    line.push(b'\n');
    server.send_raw(&line);
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    // A long line that is a request is served as long as it fits.
    let session = server.open(&Archive::of(&[("a", "1")]));
    let text = "y".repeat(12 << 20);
    session.call("zipfs_write", json!({"path": "big", "content": text})).value();
    assert_eq!(std::fs::metadata(session.path.join("big")).unwrap().len(), 12 << 20);
}

#[test]
fn the_end_of_input_ends_the_server_promptly() {
    let server = Server::start();
    let (status, took) = server.hang_up();
    assert!(status.success() && took < Duration::from_secs(1), "{status} after {took:?}");
}

#[test]
fn a_call_that_runs_does_not_keep_the_server() {
    let server = Server::start();
    server.add("spin");
    server.begin("tools/call", json!({"name": "spin", "arguments": {}}));
    std::thread::sleep(Duration::from_millis(200));
    let (_, took) = server.hang_up();
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn sigterm_ends_the_server_cleanly() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let pid = rustix::process::Pid::from_raw(server.process().0 as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (status, took) = server.wait_for_exit();
    assert!(status.success() && took < Duration::from_secs(1), "{status} after {took:?}");
    // The session is there for the next server.
    let next = Server::on(server.data_handle());
    next.handshake(json!({}));
    next.call("zipfs_read", json!({"path": "a.txt", "session": session.id})).value();
}

#[test]
fn requests_in_flight_are_answered_out_of_order() {
    let server = Server::start();
    server.add("noop");
    server.add("sleep");
    let slow = server.begin("tools/call", json!({"name": "sleep", "arguments": {}}));
    let fast: Vec<u64> = (0..100).map(|_| server.begin("tools/call", json!({"name": "noop", "arguments": {}}))).collect();
    for id in fast {
        assert!(server.answer(id)["result"].is_object());
    }
    assert!(server.others().iter().all(|message| message["id"] != json!(slow)));
}

/// A server and a client that asks more than the pipe holds answers for.
fn asked_too_much(data: &std::path::Path) -> Child {
    let mut child = Zipfs(data).command().arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.as_mut().unwrap();
    let info = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}});
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": info})).unwrap();
    let mut answer = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    let input = child.stdin.as_mut().unwrap();
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    for id in 1..400 {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).unwrap();
    }
    child
}

#[track_caller]
fn ends_within(child: &mut Child, patience: Duration) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > patience {
            let _ = child.kill();
            panic!("the server is still there after {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_reads_nothing_does_not_keep_the_server() {
    let data = tempfile::tempdir().unwrap();
    let mut child = asked_too_much(data.path());
    std::thread::sleep(Duration::from_millis(500));
    drop(child.stdin.take());
    // Its answers are still not read, by somebody who still could.
    ends_within(&mut child, Duration::from_secs(8));
}

#[test]
fn nobody_to_read_does_not_keep_the_server() {
    let data = tempfile::tempdir().unwrap();
    let mut child = asked_too_much(data.path());
    drop(child.stdout.take());
    std::thread::sleep(Duration::from_millis(200));
    let _ = writeln!(child.stdin.as_mut().unwrap(), "{}", json!({"jsonrpc": "2.0", "id": 1000, "method": "tools/list"}));
    drop(child.stdin.take());
    ends_within(&mut child, Duration::from_secs(8));
}
