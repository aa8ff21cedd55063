//! Requests that do not become calls are counted and, now and then, written down: nobody knocks unseen, and nobody fills the log.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::signer::{list, list_as};
use crate::support::{Audited, Service, zip};

/// The numbers of the metric, by reason.
fn refused(service: &Service, operator: &str) -> std::collections::BTreeMap<String, u64> {
    let metrics = service.send("GET /metrics", &[("authorization", &format!("Bearer {operator}"))], b"").text();
    let lines = metrics.lines().filter_map(|line| line.strip_prefix("zipfs_requests_refused_total{reason=\""));
    lines.filter_map(|line| line.split_once("\"} ")).map(|(reason, count)| (reason.into(), count.parse().unwrap())).collect()
}

/// Lines about requests that did not become calls: outcome, principal and how many.
fn summaries(service: &Service) -> Vec<(String, String, u64)> {
    let lines = Audited::of(service.data()).lines().into_iter().filter(|line| line["kind"] == "refused");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.map(|line| (text(&line["outcome"]), text(&line["principal"]), line["details"]["count"].as_u64().unwrap())).collect()
}

#[test]
fn what_does_not_become_a_call_is_counted_by_reason() {
    let http = json!({"body_bytes": 4096, "body_ms": 300});
    let (service, [ops, viewer, slow]) = Service::with(
        json!({"http": http, "audit": {"summary_ms": 3_600_000}}),
        [("ops", &["--role", "operator"]), ("viewer", &["--role", "viewer"]), ("slow", &["--rate", "10"])],
    );
    let bearer = format!("Bearer {ops}");
    let of_viewer = format!("Bearer {viewer}");
    let status = |line: &str, headers: &[(&str, &str)], body: &[u8]| service.send(line, headers, body).status;
    assert_eq!(status("GET /health", &[("host", "evil.com")], b""), 403);
    assert_eq!(status("GET /health", &[("origin", "http://evil.com")], b""), 403);
    assert_eq!(list(&service, &[]).status, 401);
    assert_eq!(list_as(&service, "zipfs_wrong").status, 401);
    assert_eq!(list_as(&service, "a.b.c").status, 401);
    assert_eq!(status("GET /metrics", &[("authorization", &of_viewer)], b""), 403);
    assert_eq!(status("POST /mcp", &[("authorization", &bearer)], &[b'x'; 5000]), 413);
    assert_eq!(status("POST /mcp", &[("authorization", &bearer), ("content-length", "9")], b"x"), 408);
    assert_eq!(status("POST /mcp", &[("authorization", &bearer)], b"no JSON"), 400);
    assert_eq!(status("POST /", &[("authorization", &bearer)], b"no JSON"), 200, "JSON-RPC says it in its own words");
    assert_eq!(status("POST /", &[("authorization", &bearer)], b"[]"), 200);
    assert_eq!(status("POST /", &[("authorization", &bearer)], b"{\"method\": 1}"), 200);
    assert_eq!(status("GET /nothing", &[("authorization", &bearer)], b""), 404);
    assert_eq!(status("PUT /archives", &[("authorization", &bearer)], b""), 405);
    assert_eq!(service.agent(&ops).legacy("made-up", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404);
    assert_eq!(service.raw(b"\x16\x03\x01\x02\x00\x01\x00").status, 400);
    let limited = (0..5).map(|_| list_as(&service, &slow).status).filter(|status| *status == 429).count() as u64;
    assert!(limited > 0);
    let counted = refused(&service, &ops);
    let expected = [
        ("host", 1),
        ("origin", 1),
        ("no_credentials", 1),
        ("bad_credentials", 2),
        ("role", 1),
        ("size", 1),
        ("pace", 1),
        ("malformed", 5),
        ("address", 1),
        ("protocol", 1),
        ("session", 1),
        ("rate", limited),
    ];
    let expected = expected.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    assert_eq!(counted, expected);
    // All of it is in the log when the service has ended, each kind in two lines at most.
    service.stop();
    let lines = summaries(&service);
    let total = |outcome: &str, principal: &str| -> u64 {
        lines.iter().filter(|line| (&*line.0, &*line.1) == (outcome, principal)).map(|line| line.2).sum()
    };
    assert_eq!((total("HOST_REFUSED", "nobody"), total("NO_CREDENTIALS", "nobody")), (1, 1));
    assert_eq!((total("BAD_CREDENTIALS", "nobody"), total("MALFORMED", "nobody")), (2, 1));
    assert_eq!((total("MALFORMED", "token:ops"), total("PERMISSION_DENIED", "token:viewer")), (4, 1));
    assert_eq!(total("TOO_MANY_REQUESTS", "token:slow"), limited);
    let audited = Audited::of(service.data()).lines();
    let line = audited.iter().find(|line| line["outcome"] == "HOST_REFUSED").unwrap();
    assert_eq!((&line["details"]["from"], &line["transport"]), (&json!(["127.0.0.1"]), &json!("http")));
    service.cli().ok(&["audit", "verify"]);
    assert!(service.cli().ok(&["audit", "tail", "-n", "50"]).contains("token:slow  http  requests  TOO_MANY_REQUESTS  × "));
}

#[test]
fn a_flood_of_strangers_is_a_few_lines() {
    let (service, [ops]) = Service::with(json!({"audit": {"summary_ms": 500}}), [("ops", &["--role", "operator"])]);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let service = &service;
            scope.spawn(move || {
                for guess in 0..150 {
                    assert_eq!(list_as(service, &format!("zipfs_guess_{number}_{guess}")).status, 401);
                }
            });
        }
    });
    std::thread::sleep(Duration::from_millis(1200));
    let most = 2 + began.elapsed().as_millis() as usize / 500;
    assert_eq!(refused(&service, &ops).get("bad_credentials"), Some(&600));
    let lines = summaries(&service);
    assert!(lines.len() <= most, "{} lines in {:?}", lines.len(), began.elapsed());
    assert_eq!(lines.iter().map(|line| line.2).sum::<u64>(), 600, "{lines:?}");
    let kept = Audited::of(service.data()).bytes();
    assert!(!kept.windows(6).any(|window| window == b"guess_"), "what was shown is not written down");
    // It is over, and nothing more is written.
    std::thread::sleep(Duration::from_millis(1200));
    assert_eq!(summaries(&service).len(), lines.len());
    service.cli().ok(&["audit", "verify"]);
}

#[test]
fn a_call_that_is_refused_is_a_call() {
    let (service, [ops, viewer]) = Service::with(json!({}), [("ops", &["--role", "operator"]), ("viewer", &["--role", "viewer"])]);
    let agent = service.agent(&viewer);
    assert_eq!(agent.ask("tools/call", json!({"name": "zipfs_write", "arguments": {"path": "a", "content": "b"}})).status, 403);
    assert_eq!(agent.upload("", &zip(&[("a", "a")])).status, 403);
    assert_eq!(service.agent(&ops).download("nothing").status, 404);
    assert_eq!(agent.rpc(r#"{"jsonrpc": "2.0", "id": 1, "method": "no.such.method"}"#).status, 200);
    agent.call("no_such_tool", json!({}));
    assert_eq!(refused(&service, &ops), Default::default());
    service.stop();
    assert_eq!(summaries(&service), []);
    let outcomes: Vec<Value> = Audited::of(service.data()).lines().into_iter().map(|line| line["outcome"].clone()).collect();
    let expected = ["PERMISSION_DENIED", "PERMISSION_DENIED", "NO_SESSIONS", "UNKNOWN_TOOL", "UNKNOWN_TOOL"];
    assert_eq!(outcomes.iter().filter(|outcome| **outcome != "ok").count(), expected.len(), "{outcomes:?}");
}

#[test]
fn the_trace_of_a_request_is_in_the_line_of_its_call() {
    let (service, [ops, viewer]) = Service::with(json!({}), [("ops", &["--role", "operator"]), ("viewer", &["--role", "viewer"])]);
    let trace = |digit: char| format!("00-{}-00f067aa0ba902b7-01", digit.to_string().repeat(32));
    let send = |token: &str, line: &str, header: &[&str], body: Value| {
        let bearer = format!("Bearer {token}");
        let name = body["params"]["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("authorization", bearer.as_str())];
        if line == "POST /mcp" {
            headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", name.as_str())]);
        }
        headers.extend(header.iter().map(|value| ("traceparent", *value)));
        service.send(line, &headers, body.to_string().as_bytes())
    };
    let call = |tool: &str, own: Option<&str>| {
        let mut meta =
            json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        if let Some(own) = own {
            meta["traceparent"] = json!(own);
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}})
    };
    let last = || {
        let line = Audited::of(service.data()).lines().pop().expect("a line");
        line["trace_id"].as_str().map(|id| id[..2].to_owned())
    };
    send(&ops, "POST /mcp", &[&trace('a')], call("zipfs_sessions", None));
    assert_eq!(last().as_deref(), Some("aa"), "from the header");
    send(&ops, "POST /mcp", &[], call("zipfs_sessions", Some(&trace('b'))));
    assert_eq!(last().as_deref(), Some("bb"), "from the message");
    send(&ops, "POST /mcp", &[&trace('a')], call("zipfs_sessions", Some(&trace('b'))));
    assert_eq!(last().as_deref(), Some("bb"), "the message is nearer to the call");
    send(&ops, "POST /mcp", &[&trace('a')], call("zipfs_sessions", Some("nonsense")));
    assert_eq!(last().as_deref(), Some("aa"), "what is no trace is as good as none");
    send(&ops, "POST /mcp", &[&trace('a'), &trace('c')], call("zipfs_sessions", None));
    assert_eq!(last(), None, "two are as good as none");
    send(&viewer, "POST /mcp", &[&trace('d')], call("zipfs_write", None));
    assert_eq!(last().as_deref(), Some("dd"), "of a call that was refused");
    send(&viewer, "POST /mcp", &[], call("zipfs_write", Some(&trace('e'))));
    assert_eq!(last().as_deref(), Some("ee"));
    send(&ops, "POST /", &[&trace('f')], json!({"jsonrpc": "2.0", "id": 1, "method": "no.such"}));
    assert_eq!(last().as_deref(), Some("ff"), "of JSON-RPC");
    let bearer = format!("Bearer {ops}");
    let download = [("authorization", bearer.as_str()), ("traceparent", &trace('1'))];
    service.send("GET /archives/nothing", &download, b"");
    assert_eq!(last().as_deref(), Some("11"), "of an archive");
}
