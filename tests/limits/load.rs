//! Many clients at once over HTTP: no errors, flat memory, no long tail. `ZIPFS_LOAD_SECONDS=60` for as long as is promised.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Archive, Line, Service};

const CLIENTS: usize = 64;
const SESSIONS: usize = 16;

#[test]
fn sixty_four_clients_on_sixteen_sessions() {
    let seconds = std::env::var("ZIPFS_LOAD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let archive = Archive::of(&[("note.txt", &"What was read once is read again.\n".repeat(30))]);
    let root = format!("in={}", archive.dir().display());
    // The rate is bounded like everything else; here it is the machine that is to be the limit.
    let arguments = ["--open-root", &root, "--rate", "100000000", "--concurrent", "64"];
    let (service, [token]) = Service::with(json!({}), [("load", &arguments)]);
    let agent = service.agent(&token);
    for number in 0..SESSIONS {
        agent.call("zipfs_open", json!({"path": "/in/sample.zip", "name": format!("s{number}")})).value();
    }
    let requests: Vec<Vec<u8>> = (0..SESSIONS).map(|number| read(&service, &token, number)).collect();
    let stop = AtomicBool::new(false);
    let mut memory = Vec::new();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (service, stop, request) = (&service, &stop, &requests[number % SESSIONS]);
                scope.spawn(move || {
                    let (mut line, mut times) = (Line::to(service), Vec::new());
                    while !stop.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        let (status, body) = line.ask(request);
                        times.push(began.elapsed());
                        let text = String::from_utf8_lossy(&body);
                        assert!(
                            status == 200 && text.contains("read again") && !text.contains("\"isError\":true"),
                            "{status} {text}"
                        );
                    }
                    times
                })
            })
            .collect();
        for _ in 0..10 {
            std::thread::sleep(Duration::from_millis(seconds * 100));
            memory.push(service.process().memory());
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().expect("no client failed")).collect()
    });
    times.sort();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    let rate = times.len() as u64 / seconds;
    eprintln!(
        "{} calls, {rate}/s, p50 {p50:?}, p99 {p99:?}, memory {:?} MiB",
        times.len(),
        memory.iter().map(|bytes| bytes >> 20).collect::<Vec<_>>()
    );
    assert!(p99 <= p50 * 20, "p50 {p50:?}, p99 {p99:?}");
    // From the third sample on everything that is kept is there.
    let grown = memory[9].saturating_sub(memory[2]);
    assert!(grown < 16 << 20, "{memory:?}");
}

fn read(service: &Service, token: &str, number: usize) -> Vec<u8> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": "zipfs_read", "arguments": {"path": "note.txt", "session": format!("s{number}")}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "zipfs_read"),
        ("connection", "keep-alive"),
    ];
    service.request("POST /mcp", &headers, body.as_bytes())
}
