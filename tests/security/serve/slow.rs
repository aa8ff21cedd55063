//! Clients that send too much, too slowly, or nonsense; and the others, who are served meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Response, Service};

/// A service that loses its patience soon.
fn hasty() -> (Service, String) {
    let http = json!({"header_ms": 1500, "body_ms": 1000, "slowest_bytes_per_second": 10_000, "stall_ms": 2000, "connections": 32,
                      "body_bytes": 1 << 20});
    let (service, [token]) = Service::with(json!({"http": http}), [("a", &[])]);
    (service, token)
}

fn is_served(service: &Service, token: &str) {
    let began = Instant::now();
    assert_eq!(service.agent(token).ask("tools/list", json!({})).status, 200);
    assert!(began.elapsed() < Duration::from_secs(2), "others wait {:?}", began.elapsed());
}

#[test]
fn large_bodies_are_refused_and_cost_no_memory() {
    let (service, token) = hasty();
    is_served(&service, &token);
    let before = service.process().peak_memory();
    let bearer = format!("Bearer {token}");
    let announced = service.request("POST /mcp", &[("authorization", &bearer), ("content-length", "67108864")], b"");
    assert_eq!(service.raw(&announced).status, 413, "by its own word");
    let mut chunked =
        service.request("POST /mcp", &[("authorization", &bearer), ("content-length", ""), ("transfer-encoding", "chunked")], b"");
    for _ in 0..1024 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend(std::iter::repeat_n(b'x', 0x10000));
        chunked.extend_from_slice(b"\r\n");
    }
    assert!(matches!(service.raw(&chunked).status, 413 | 0), "64 MiB in chunks");
    assert_eq!(service.send("POST /mcp", &[], &vec![b'x'; 4 << 20]).status, 401, "of a stranger nothing is read");
    let grown = service.process().peak_memory().saturating_sub(before);
    assert!(grown < 24 << 20, "{} KiB", grown >> 10);
    is_served(&service, &token);
}

#[test]
fn slow_headers_and_bodies_are_given_up() {
    let (service, token) = hasty();
    let bearer = format!("Bearer {token}");
    let request = service.request("POST /mcp", &[("authorization", &bearer), ("content-length", "5000")], b"");
    let (head, part) = (&request[..40], &request[..]);
    let mut drips: Vec<(TcpStream, Instant)> = (0..10)
        .map(|index| {
            let mut stream = service.connect();
            stream.write_all(if index % 2 == 0 { head } else { part }).unwrap();
            (stream, Instant::now())
        })
        .collect();
    for round in 0..4 {
        std::thread::sleep(Duration::from_millis(250));
        for (stream, _) in &mut drips {
            // A byte a while: a header that never ends, a body that takes an hour.
            let _ = stream.write_all(b"x");
        }
        if round == 2 {
            is_served(&service, &token);
        }
    }
    for (index, (stream, began)) in drips.into_iter().enumerate() {
        let reply = Response::read(stream);
        assert!(matches!((index % 2, reply.status), (0, 0 | 408 | 400) | (1, 408)), "{index}: {reply:?}");
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    }
    is_served(&service, &token);
}

#[test]
fn idle_connections_make_room() {
    let (service, token) = hasty();
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).expect("our own end needs as many");
    let descriptors = service.process().descriptors();
    let idle: Vec<TcpStream> = (0..1000).map(|_| service.connect()).collect();
    is_served(&service, &token);
    std::thread::sleep(Duration::from_millis(300));
    let held = service.process().descriptors() - descriptors;
    assert!(held <= 40, "{held} descriptors for connections that say nothing, where 32 may be");
    drop(idle);
}

#[test]
fn who_does_not_read_is_left() {
    let (service, token) = hasty();
    service.add("showcase");
    let bearer = format!("Bearer {token}");
    // Many small questions with large answers, one after the other on one connection, and nobody reads.
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
        ("connection", "keep-alive"),
    ];
    let request = service.request("POST /mcp", &headers, body);
    let mut stream = service.connect();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let began = Instant::now();
    let mut ended = false;
    while began.elapsed() < Duration::from_secs(15) {
        match stream.write_all(&request) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => {
                ended = true;
                break;
            }
        }
    }
    assert!(ended, "the connection is still there after {:?}", began.elapsed());
    is_served(&service, &token);
}

#[test]
fn headers_are_bounded() {
    let (service, token) = hasty();
    let many: Vec<(String, String)> = (0..10_000).map(|index| (format!("x-{index}"), "y".into())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert!(matches!(service.send("GET /health", &many, b"").status, 431 | 400 | 0), "10,000 headers");
    let long = "y".repeat(200_000);
    assert!(matches!(service.send("GET /health", &[("x", &long)], b"").status, 431 | 400 | 0), "one of 200 KB");
    is_served(&service, &token);
}

#[test]
fn nonsense_is_refused_in_order() {
    let (service, token) = hasty();
    let bearer = format!("Bearer {token}");
    let post = |body: &[u8]| service.send("POST /mcp", &[("authorization", &bearer)], body);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"zipfs_read","arguments":{{"path":{deep}}}}}}}"#
    );
    for (what, body) in [
        ("depth", nested.as_bytes()),
        ("depth of a batch", deep.as_bytes()),
        ("a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#),
        ("two methods", br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#),
        ("two names", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zipfs_ls","name":"zipfs_delete"}}"#),
        ("no UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}"),
        ("nothing", b""),
        ("half", b"{\"jsonrpc\":"),
    ] {
        let reply = post(body);
        assert_eq!(reply.status, 400, "{what}: {reply:?}");
        let code = &reply.json()["error"]["code"];
        assert!(*code == -32700 || *code == -32600, "{what}: {reply:?}");
    }
    // Lies about where the body ends.
    let chunk = |size: &str| {
        let mut request = service.request(
            "POST /mcp",
            &[("authorization", &bearer), ("content-length", ""), ("transfer-encoding", "chunked")],
            b"",
        );
        request.extend_from_slice(format!("{size}\r\n{{}}\r\n0\r\n\r\n").as_bytes());
        service.raw(&request).status
    };
    for size in ["FFFFFFFFFFFFFFFFF", "-1", "zz", "1"] {
        assert!(matches!(chunk(size), 400 | 408 | 413 | 0), "{size}");
    }
    let both =
        service.request("POST /mcp", &[("authorization", &bearer), ("content-length", "3"), ("content-length", "5")], b"{}   ");
    assert!(matches!(service.raw(&both).status, 400 | 0), "two lengths");
    assert!(matches!(service.raw(b"\x16\x03\x01\x02\x00\x01\x00").status, 400 | 0), "TLS to a port without");
    assert!(matches!(service.raw(b"GET / HTTP/9.9\r\n\r\n").status, 400 | 505 | 0));
    is_served(&service, &token);
}

#[test]
fn lists_are_answered_while_guests_spin() {
    let (service, [token]) = Service::with(json!({"calls": {"deadline_ms": 4000, "cpu_ms": 60_000}}), [("a", &[])]);
    service.add("spin");
    let agent = service.agent(&token);
    agent.tools();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| service.agent(&token).call("spin", json!({})).fails("TIMEOUT"));
        }
        std::thread::sleep(Duration::from_millis(500));
        let mut times: Vec<Duration> = (0..30)
            .map(|_| {
                let began = Instant::now();
                agent.tools();
                began.elapsed()
            })
            .collect();
        times.sort();
        // The machine has two cores for eight loops and for us, so the median is what can be promised.
        assert!(times[15] < Duration::from_millis(50), "median {:?}, worst {:?}", times[15], times[29]);
    });
}

#[test]
fn who_hangs_up_ends_the_call() {
    let (service, [token]) = Service::with(json!({"calls": {"deadline_ms": 60_000, "cpu_ms": 60_000}}), [("a", &[])]);
    service.add("spin");
    let bearer = format!("Bearer {token}");
    let meta: Value =
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "spin", "arguments": {}, "_meta": meta}});
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "spin"),
    ];
    let request = service.request("POST /mcp", &headers, body.to_string().as_bytes());
    let mut stream = service.connect();
    stream.write_all(&request).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    drop(stream);
    std::thread::sleep(Duration::from_millis(300));
    let before = service.process().ticks();
    std::thread::sleep(Duration::from_secs(1));
    let used = service.process().ticks() - before;
    assert!(used <= 5, "the guest still runs: {used} ticks of 10 ms in a second");
    let _ = service.connect().read(&mut [0; 0]);
}
