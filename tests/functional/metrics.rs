//! What a server tells those who run it: Prometheus text, OpenTelemetry, a log for machines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};

use crate::support::{Serving, Zipfs, guest};

#[test]
fn prometheus_finds_calls_times_sessions_and_memory() {
    let data = tempfile::tempdir().unwrap();
    Zipfs(data.path()).ok(&["plugin", "add", "--yes", guest("trap").to_str().unwrap()]);
    let serving = Serving::start(Zipfs(data.path()).command());
    for _ in 0..3 {
        serving.call("zipfs_sessions", json!({}));
    }
    serving.call("trap", json!({}));
    let text = serving.get("/metrics");
    for line in [
        "zipfs_calls_total{outcome=\"ok\",tool=\"zipfs_sessions\"} 3",
        "zipfs_calls_total{outcome=\"internal\",tool=\"trap\"} 1",
        "zipfs_call_seconds_count{tool=\"zipfs_sessions\"} 3",
        "zipfs_queue_seconds_count{tool=\"zipfs_sessions\"} 3",
        "zipfs_instantiate_seconds_count{tool=\"zipfs_sessions\"} 3",
        "zipfs_run_seconds_count{tool=\"trap\"} 1",
        "zipfs_guest_memory_bytes_count{tool=\"zipfs_sessions\"} 3",
        "zipfs_sessions 0",
        "zipfs_calls_running 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    assert!(text.contains("# TYPE zipfs_call_seconds histogram") && text.contains("process_resident_memory_bytes"), "{text}");
}

#[test]
fn names_that_callers_make_up_are_no_labels() {
    let data = tempfile::tempdir().unwrap();
    let serving = Serving::start(Zipfs(data.path()).command());
    for number in 0..20 {
        serving.call(&format!("made_up_{number}"), json!({}));
    }
    let text = serving.get("/metrics");
    assert!(!text.contains("made_up"), "{text}");
}

/// A collector that decodes what it is sent.
fn collector() -> (u16, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                loop {
                    let (mut first, mut length) = (String::new(), 0);
                    if reader.read_line(&mut first).unwrap_or(0) == 0 {
                        return;
                    }
                    loop {
                        let mut header = String::new();
                        reader.read_line(&mut header).unwrap();
                        let header = header.trim().to_ascii_lowercase();
                        if header.is_empty() {
                            break;
                        }
                        if let Some(value) = header.strip_prefix("content-length:") {
                            length = value.trim().parse().unwrap();
                        }
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    let path = first.split_whitespace().nth(1).unwrap_or_default().to_owned();
                    if sender.send((path, body)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, receiver)
}

#[test]
fn a_collector_is_sent_traces_and_numbers() {
    let (collector, received) = collector();
    let data = tempfile::tempdir().unwrap();
    let mut command = Zipfs(data.path()).command();
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{collector}"));
    let mut serving = Serving::start(command);
    serving.call("zipfs_sessions", json!({}));
    serving.call("zipfs_read", json!({"path": "a.txt"}));
    // What is not sent yet is sent at the end.
    let pid = rustix::process::Pid::from_raw(serving.child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while serving.child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "the server does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (mut spans, mut numbers) = (Vec::<Span>::new(), Vec::new());
    for (path, body) in received.try_iter() {
        match path.as_str() {
            "/v1/traces" => {
                let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
                for resource in request.resource_spans {
                    let named = format!("{:?}", resource.resource);
                    assert!(named.contains("zipfs"), "{named}");
                    spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
                }
            }
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
                let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
                numbers.extend(scopes.flat_map(|scope| scope.metrics));
            }
            other => panic!("{other}"),
        }
    }
    let trace = [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36];
    let span = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    let called = span("tools/call zipfs_sessions");
    assert_eq!(
        (&called.trace_id[..], &called.parent_span_id[..]),
        (&trace[..], &[0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7][..])
    );
    for part in ["queue", "instantiate", "run"] {
        let part = spans.iter().find(|span| span.name == part && span.parent_span_id == called.span_id).expect(part);
        assert!(part.start_time_unix_nano >= called.start_time_unix_nano && part.end_time_unix_nano <= called.end_time_unix_nano);
    }
    let failed = span("tools/call zipfs_read");
    assert_eq!(failed.status.as_ref().map(|status| (status.code, status.message.as_str())), Some((2, "NO_SESSIONS")));
    let duration = numbers.iter().rfind(|metric| metric.name == "zipfs.call.duration").expect("durations");
    let Some(Data::Histogram(histogram)) = &duration.data else { panic!("{duration:?}") };
    assert_eq!(histogram.data_points.iter().map(|point| point.count).sum::<u64>(), 2);
}

#[test]
fn a_collector_that_is_away_costs_nothing() {
    let data = tempfile::tempdir().unwrap();
    let mut command = Zipfs(data.path()).command();
    // Nobody listens there.
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let serving = Serving::start(command);
    let began = Instant::now();
    (0..10).for_each(|_| drop(serving.call("zipfs_sessions", json!({}))));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    Zipfs(data.path()).ok(&["sessions"]);
}

#[test]
fn the_log_can_be_read_by_machines() {
    let data = tempfile::tempdir().unwrap();
    let config = json!({"telemetry": {"log_format": "json"}});
    std::fs::write(data.path().join("config.json"), config.to_string()).unwrap();
    let mut command = Zipfs(data.path()).command();
    let child =
        command.env("ZIPFS_LOG", "zipfs=info").arg("mcp").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let info = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "zipfs_sessions", "arguments": {}}}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    assert!(lines.iter().any(|line| line["what"] == "zipfs_sessions" && line["outcome"] == "ok"), "{text}");
}

#[test]
fn a_collector_that_cannot_be_one_is_said_at_once() {
    let data = tempfile::tempdir().unwrap();
    let output = Zipfs(data.path()).command().env("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address").arg("mcp").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("telemetry.otlp_endpoint"), "{text}");
}
