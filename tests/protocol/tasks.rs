//! Calls that become tasks: polled, asked, cancelled, bounded in number, time and size.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::eras::modern;
use crate::support::{Audited, Server, component};

const TASKS: &str = "io.modelcontextprotocol/tasks";

fn knows_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {TASKS: {}}})
}

/// Calls as a client that knows tasks.
fn call(server: &Server, tool: &str, arguments: Value) -> Value {
    server.request("tools/call", modern(json!({"name": tool, "arguments": arguments}), knows_tasks()))
}

fn ask(server: &Server, method: &str, id: &Value, more: Value) -> Value {
    let mut params = json!({"taskId": id});
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    server.request(method, modern(params, knows_tasks()))
}

/// Waits until the task is like that.
#[track_caller]
fn wait(server: &Server, id: &Value, status: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let task = ask(server, "tasks/get", id, json!({}));
        if task["result"]["status"] == status {
            return task["result"].clone();
        }
        assert!(Instant::now() < until, "waited for {status}: {task}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn with_conformance(config: Value) -> Server {
    let server = Server::with(config);
    server.cli().ok(&["plugin", "add", "--yes", component("zipfs-conformance").to_str().unwrap()]);
    server
}

#[test]
fn a_long_call_becomes_a_task_and_a_short_one_does_not() {
    let server = Server::with(json!({"tasks": {"after_ms": 200}, "calls": {"deadline_ms": 60_000}}));
    server.add("showcase");
    let short = call(&server, "show_text", json!({}));
    assert_eq!(short["result"]["content"][0]["text"], "Just text.", "{short}");
    let began = call(&server, "show_cancel", json!({}));
    assert_eq!((&began["result"]["resultType"], &began["result"]["status"]), (&json!("task"), &json!("working")), "{began}");
    let id = began["result"]["taskId"].clone();
    // What it reports is how it stands.
    let until = Instant::now() + Duration::from_secs(10);
    while !ask(&server, "tasks/get", &id, json!({}))["result"]["statusMessage"].is_string() {
        assert!(Instant::now() < until, "no report");
        std::thread::sleep(Duration::from_millis(20));
    }
    let stopped = ask(&server, "tasks/cancel", &id, json!({}));
    assert_eq!(stopped["result"]["resultType"], "complete", "{stopped}");
    wait(&server, &id, "cancelled");
    std::thread::sleep(Duration::from_millis(200));
    let ticks = server.process().ticks();
    std::thread::sleep(Duration::from_millis(500));
    assert!(server.process().ticks() - ticks <= 3, "the guest still runs");
    let calls = Audited::of(server.data()).calls();
    assert_eq!(calls.last().unwrap(), &("show_cancel".to_owned(), "CANCELLED".to_owned()));
    // A client that does not know tasks gets none.
    let waiting = server.begin("tools/call", modern(json!({"name": "show_progress", "arguments": {}}), json!({})));
    assert_eq!(server.answer(waiting)["result"]["content"][0]["text"], "Done.");
}

#[test]
fn a_task_asks_and_goes_on_with_the_answers() {
    let server = with_conformance(json!({}));
    let began = call(&server, "multi_input", json!({}));
    let id = began["result"]["taskId"].clone();
    let asking = wait(&server, &id, "input_required");
    let names: Vec<String> = asking["inputRequests"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 2, "{asking}");
    let answer = |name: &str| json!({"inputResponses": {name: {"action": "accept", "content": {"name": "Ada", "confirm": true}}}});
    ask(&server, "tasks/update", &id, answer("nobody-asked"));
    ask(&server, "tasks/update", &id, answer(&names[0]));
    let rest = wait(&server, &id, "input_required");
    assert_eq!(rest["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), [&names[1]]);
    ask(&server, "tasks/update", &id, answer(&names[1]));
    let done = wait(&server, &id, "completed");
    assert_eq!(done["result"]["content"][0]["text"], "Both answered.", "{done}");
    // A fault of the guest is not an answer.
    let broken = call(&server, "protocol_error_job", json!({}));
    let failed = wait(&server, &broken["result"]["taskId"], "failed");
    assert!(failed["error"]["code"].is_i64() && failed.get("result").is_none(), "{failed}");
    let refused = server.request("tools/call", modern(json!({"name": "failing_job", "arguments": {}}), json!({})));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[test]
fn tasks_are_bounded() {
    let server = Server::with(json!({"tasks": {"after_ms": 50, "most_of_one": 2}, "calls": {"deadline_ms": 2_000}}));
    server.add("showcase");
    let tasks: Vec<Value> = (0..2).map(|_| call(&server, "show_cancel", json!({}))["result"]["taskId"].clone()).collect();
    assert!(tasks.iter().all(Value::is_string), "{tasks:?}");
    // The third is answered when it ends, at its deadline.
    let third = call(&server, "show_cancel", json!({}));
    assert_eq!(third["result"]["structuredContent"]["error"]["code"], "TIMEOUT", "{third}");
    wait(&server, &tasks[0], "completed");
}

#[test]
fn a_task_ends_with_its_time() {
    let server = Server::with(json!({"tasks": {"after_ms": 50, "ttl_ms": 1_000}, "calls": {"deadline_ms": 60_000}}));
    server.add("showcase");
    let began = call(&server, "show_cancel", json!({}));
    assert_eq!(began["result"]["ttlMs"], 1_000, "{began}");
    std::thread::sleep(Duration::from_millis(1_500));
    let gone = ask(&server, "tasks/get", &began["result"]["taskId"], json!({}));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    assert_eq!(Audited::of(server.data()).calls().last().unwrap().1, "CANCELLED");
}

#[test]
fn results_are_bounded() {
    let server = with_conformance(json!({"tasks": {"result_bytes": 40}}));
    let began = call(&server, "slow_compute", json!({"seconds": 0.1, "label": "a label that is longer than what fits"}));
    let failed = wait(&server, &began["result"]["taskId"], "failed");
    assert!(failed["error"]["message"].as_str().unwrap().contains("tasks.result_bytes"), "{failed}");
}
