//! The pipe itself: bad lines, long lines, and the end.

use std::time::Duration;

use serde_json::json;

use crate::support::{Archive, Server};

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
