//! An end in good order.

use std::io::{Read, Write};
use std::time::Duration;

use serde_json::json;

use crate::support::Service;

#[test]
fn calls_that_run_are_answered_before_the_end() {
    let service = Service::local(json!({"calls": {"deadline_ms": 1500}}));
    service.add("sleep");
    let session = service.agent("").handshake();
    let stream = {
        let mut stream = service.connect();
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("accept", "text/event-stream"),
            ("connection", "keep-alive"),
            ("content-length", ""),
        ];
        stream.write_all(&service.request("GET /mcp", &headers, b"")).unwrap();
        let mut some = [0; 64];
        assert!(stream.read(&mut some).unwrap() > 0, "a stream is open that never ends by itself");
        stream
    };
    std::thread::scope(|scope| {
        let call = scope.spawn(|| service.agent("").call("sleep", json!({})).failure().0);
        std::thread::sleep(Duration::from_millis(300));
        let (status, took) = service.stop();
        assert_eq!(call.join().unwrap(), "TIMEOUT", "it came to its own end");
        assert!(status.success(), "{status}");
        assert!(took > Duration::from_millis(500) && took < Duration::from_secs(4), "{took:?}");
    });
    drop(stream);
}

#[test]
fn a_call_that_does_not_end_is_ended_after_five_seconds() {
    let service = Service::local(json!({"calls": {"deadline_ms": 60_000}}));
    service.add("sleep");
    std::thread::scope(|scope| {
        scope.spawn(|| service.agent("").ask("tools/call", json!({"name": "sleep", "arguments": {}})));
        std::thread::sleep(Duration::from_millis(500));
        let (status, took) = service.stop();
        assert!(status.success(), "{status}");
        assert!(took > Duration::from_millis(4500) && took < Duration::from_millis(6500), "{took:?}");
    });
}

#[test]
fn nothing_running_is_over_at_once() {
    let service = Service::local(json!({}));
    service.agent("").tools();
    let (status, took) = service.stop();
    assert!(status.success() && took < Duration::from_secs(1), "{status} {took:?}");
}
