//! Answers and concurrency.

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn an_answer_larger_than_the_limit_is_refused_not_cut() {
    let server = Server::with(json!({"calls": {"result_bytes": 10_000}}));
    let session = server.open(&Archive::of(&[("a.txt", "x")]));
    std::fs::write(session.path.join("big.txt"), "y".repeat(20_000)).unwrap();
    let message = session.call("zipfs_read", json!({"path": "big.txt"})).fails("LIMIT_EXCEEDED");
    assert!(message.contains("result_bytes"), "{message}");
    session.call("zipfs_read", json!({"path": "big.txt", "limit": 5000})).value();
}

#[test]
fn more_calls_than_slots_wait_their_turn() {
    let server = Server::with(json!({"calls": {"concurrent": 2, "deadline_ms": 3000}}));
    server.add("noop");
    server.add("sleep");
    let sleeping: Vec<u64> = (0..2).map(|_| server.begin("tools/call", json!({"name": "sleep", "arguments": {}}))).collect();
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let waiting = server.begin("tools/call", json!({"name": "noop", "arguments": {}}));
    for id in sleeping {
        assert_eq!(server.answer(id)["result"]["structuredContent"]["error"]["code"], "TIMEOUT");
    }
    assert!(server.answer(waiting)["result"]["structuredContent"].is_object());
}

#[test]
fn opening_works_with_one_place_for_calls() {
    let server = Server::with(json!({"calls": {"concurrent": 1}}));
    let archive = Archive::of(&[("a.txt", "x")]);
    let opening: Vec<u64> =
        (0..6).map(|_| server.begin("tools/call", json!({"name": "zipfs_open", "arguments": {"path": archive.path()}}))).collect();
    for id in opening {
        assert_eq!(server.answer(id)["result"]["structuredContent"]["file_count"], 1);
    }
}

#[test]
fn errors_and_questions_of_guests_are_bounded_too() {
    let server = Server::start();
    server.add("lying-class");
    let reply = server.call("lying_class", json!({}));
    assert_eq!(reply.0["result"]["isError"], true);
    assert!(reply.0.to_string().len() < 64 << 10, "{} bytes", reply.0.to_string().len());
}
