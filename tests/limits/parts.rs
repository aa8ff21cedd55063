//! Calls that share their work: in order, within the call's time, and with no more than a part may have.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Archive, Reply, Server, Session};

fn server() -> Server {
    let server = Server::with(json!({"calls": {"deadline_ms": 1500, "cpu_ms": 1500}}));
    server.add("parts");
    server
}

fn share(session: &Session, count: u32, kind: &str) -> Reply {
    session.call("parts", json!({"count": count, "kind": kind}))
}

/// After whatever happened, the plugin and the session work.
fn next_call_works(session: &Session) {
    session.server.call("parts_ok", json!({})).value();
    assert_eq!(share(session, 3, "number").value()["results"], json!(["0 of 3", "1 of 3", "2 of 3"]));
    session.call("zipfs_read", json!({"path": "a.txt"})).value();
}

#[test]
fn results_come_in_the_order_of_the_parts() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    for count in [0, 1, 2, 100, 1024] {
        let expected: Vec<String> = (0..count).map(|number| format!("{number} of {count}")).collect();
        assert_eq!(share(&session, count, "number").value()["results"], json!(expected));
    }
}

#[test]
fn too_many_are_refused() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    for count in [1025, 50_000] {
        let message = share(&session, count, "number").fails("LIMIT_EXCEEDED");
        assert!(message.contains("1024"), "{message}");
    }
    next_call_works(&session);
}

#[test]
fn a_part_cannot_share_again() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    assert_eq!(share(&session, 2, "again").value()["results"], json!(["INVALID_PARAMS", "INVALID_PARAMS"]));
}

#[test]
fn a_part_that_fails_or_breaks_down_fails_the_call() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let message = share(&session, 5, "fail").fails("PART_FAILED");
    assert!(message.contains("Part 2"), "{message}");
    let message = share(&session, 5, "trap").fails("INTERNAL_ERROR");
    assert!(message.contains("part 2 panics"), "{message}");
    next_call_works(&session);
}

#[test]
fn a_part_that_never_ends_is_ended_with_its_call() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let began = Instant::now();
    share(&session, 5, "spin").fails("TIMEOUT");
    let took = began.elapsed();
    assert!(took > Duration::from_millis(1400) && took < Duration::from_millis(2300), "{took:?}");
    // It does not go on behind the scenes.
    std::thread::sleep(Duration::from_millis(100));
    let before = server.process().ticks();
    std::thread::sleep(Duration::from_millis(500));
    let used = server.process().ticks() - before;
    assert!(used <= 5, "{used} ticks of the processor after the call had ended");
    next_call_works(&session);
}

#[test]
fn parts_read_the_workspace_and_cannot_write_even_if_the_tool_may() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    let done = share(&session, 4, "write").value();
    let results: Vec<&Value> = done["results"].as_array().unwrap().iter().collect();
    assert!(
        results.len() == 4
            && results.iter().all(|result| **result == "sees it: true, read-only" || **result == "sees it: true, not-permitted"),
        "{results:?}"
    );
    assert!(session.path.join("made-by-the-tool").is_dir());
    assert_eq!(std::fs::read_dir(&session.path).unwrap().count(), 2);
}

#[test]
fn results_of_parts_are_bounded_together() {
    let server = server();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    share(&session, 200, "flood").fails("LIMIT_EXCEEDED");
    next_call_works(&session);
}
