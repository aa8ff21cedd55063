//! Cancelling a call stops its guest.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Server;

/// Starts a tool, cancels it, and sees the process go quiet.
fn cancelled_guest_stops(plugin: &str, tool: &str) {
    let server = Server::with(json!({"calls": {"deadline_ms": 60_000, "cpu_ms": 60_000}}));
    server.add(plugin);
    let id = server.begin("tools/call", json!({"name": tool, "arguments": {}}));
    std::thread::sleep(Duration::from_millis(300));
    server.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}));
    std::thread::sleep(Duration::from_millis(100));
    let before = server.process().ticks();
    std::thread::sleep(Duration::from_millis(1000));
    let used = server.process().ticks() - before;
    assert!(used <= 3, "the guest still runs: {used} ticks of 10 ms in a second");
    let began = Instant::now();
    assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    assert!(began.elapsed() < Duration::from_millis(200));
    let answered = server.others().iter().any(|message| message["id"] == json!(id));
    assert!(!answered, "a cancelled call is not answered");
}

#[test]
fn a_guest_that_spins_is_stopped() {
    cancelled_guest_stops("spin", "spin");
}

#[test]
fn a_guest_that_waits_is_stopped() {
    cancelled_guest_stops("sleep", "sleep");
}

#[test]
fn a_guest_that_reports_progress_is_stopped() {
    cancelled_guest_stops("showcase", "show_cancel");
}

#[test]
fn others_are_served_while_guests_spin() {
    let server = Server::with(json!({"calls": {"deadline_ms": 4000, "cpu_ms": 60_000}}));
    server.add("spin");
    server.add("noop");
    let spinning: Vec<u64> = (0..8).map(|_| server.begin("tools/call", json!({"name": "spin", "arguments": {}}))).collect();
    std::thread::sleep(Duration::from_millis(300));
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let began = Instant::now();
            server.request("tools/list", json!({}));
            server.call("noop", json!({})).value();
            began.elapsed()
        })
        .collect();
    times.sort();
    // Two requests each; the machine has two cores for eight loops, so the median is what can be promised.
    assert!(times[15] < Duration::from_millis(100), "median {:?}, worst {:?}", times[15], times[29]);
    for id in spinning {
        assert_eq!(server.answer(id)["result"]["structuredContent"]["error"]["code"], "TIMEOUT");
    }
}
