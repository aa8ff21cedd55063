//! Where requests want to go and where they come from.

use std::process::Command;

use serde_json::json;

use crate::support::{Service, have, skipped};

const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn only_our_own_names_are_answered() {
    let (service, [token]) = Service::with(json!({"http": {"allowed_hosts": ["zip.example.com"]}}), [("a", &[])]);
    let port = service.address.port();
    let bearer = format!("Bearer {token}");
    let status = |host: &str| service.send("GET /health", &[("host", host), ("authorization", &bearer)], b"").status;
    for good in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}"), "zip.example.com".into()] {
        assert_eq!(status(&good), 200, "{good}");
    }
    for bad in [
        "evil.com".to_owned(),
        format!("evil.com:{port}"),
        format!("localhost.evil.com:{port}"),
        format!("127.0.0.1.evil.com:{port}"),
        format!("localhost.:{port}"),
        "localhost:1".to_owned(),
        "localhost".to_owned(),
        format!("zip.example.com.evil.com:{port}"),
        format!("user@localhost:{port}"),
    ] {
        assert!(matches!(status(&bad), 400 | 403), "{bad}");
    }
    // What cannot be read in one way only is not read.
    let host = format!("127.0.0.1:{port}");
    let none = service.raw(b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert_eq!(none.status, 400, "no Host");
    let two = format!("GET /health HTTP/1.1\r\nhost: {host}\r\nhost: evil.com\r\nconnection: close\r\n\r\n");
    assert_eq!(service.raw(two.as_bytes()).status, 400, "two Hosts");
    let absolute = format!("GET http://evil.com/health HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    assert_eq!(service.raw(absolute.as_bytes()).status, 400, "absolute form");
    assert_eq!(service.raw(b"GET /health HTTP/1.0\r\n\r\n").status, 400, "HTTP/1.0");
}

#[test]
fn a_refused_request_has_no_body_read() {
    let (service, _) = Service::with(json!({}), [("a", &[])]);
    let began = std::time::Instant::now();
    // The body is announced and never comes.
    for headers in
        [[("host", "evil.com"), ("content-length", "1000000")], [("origin", "http://evil.com"), ("content-length", "1000000")]]
    {
        assert_eq!(service.send("POST /mcp", &headers, b"").status, 403);
    }
    assert_eq!(service.send("POST /mcp", &[("content-length", "1000000")], b"").status, 401);
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "they were waited for");
}

#[test]
fn only_known_pages_may_call() {
    let (service, [token]) = Service::with(json!({"http": {"allowed_origins": ["https://app.example.com"]}}), [("a", &[])]);
    let port = service.address.port();
    let bearer = format!("Bearer {token}");
    let from = |origin: &str| service.send("POST /mcp", &[("origin", origin), ("authorization", &bearer)], PING);
    let good = [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}"), "https://app.example.com".into()];
    for origin in good {
        let reply = from(&origin);
        assert_ne!(reply.status, 403, "{origin}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(&*origin));
    }
    for bad in [
        "http://evil.com".to_owned(),
        "null".into(),
        format!("http://localhost.evil.com:{port}"),
        "http://localhost:1".into(),
        "http://localhost".into(),
        format!("https://localhost:{port}"),
        format!("HTTP://localhost:{port}"),
        format!("http://LocalHost:{port}"),
        format!("http://[::1]:{}", port ^ 1),
        format!("http://localhost.:{port}"),
        "https://app.example.com.evil.com".into(),
        "https://app.example.com:443".into(),
    ] {
        let reply = from(&bad);
        assert_eq!(reply.status, 403, "{bad}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "{bad}");
    }
    // Native clients send none.
    assert_ne!(service.send("POST /mcp", &[("authorization", &bearer)], PING).status, 403);
}

#[test]
fn a_name_that_was_made_to_point_here_is_refused() {
    if !have("curl", "a rebound name is refused when a real client resolves it") {
        return;
    }
    let service = Service::local(json!({}));
    let port = service.address.port();
    let fetch = |name: &str| {
        let resolve = format!("{name}:{port}:127.0.0.1");
        let url = format!("http://{name}:{port}/mcp");
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", "--resolve", &resolve, "-d", "{}", &url])
            .output()
            .expect("curl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(fetch("evil.com"), "403");
    assert_eq!(fetch("localhost.evil.com"), "403");
    assert_ne!(fetch("localhost"), "403");
}

#[test]
fn nothing_but_loopback_is_listened_on_without_being_asked() {
    let service = Service::local(json!({}));
    let wanted = format!(":{:04X}", service.address.port());
    let Ok(table) = std::fs::read_to_string("/proc/net/tcp") else {
        return skipped("there is no /proc/net/tcp, so nothing shows what is listened on");
    };
    let listening: Vec<&str> = table
        .lines()
        .filter_map(|line| Some((line.split_whitespace().nth(1)?, line.split_whitespace().nth(3)?)))
        .filter(|(local, state)| *state == "0A" && local.ends_with(&wanted))
        .map(|(local, _)| local)
        .collect();
    assert_eq!(listening, [format!("0100007F{wanted}")], "127.0.0.1 alone");
    let cli = service.cli();
    let refused = cli.fails(&["serve", "--listen", "0.0.0.0:0", "--allow-local"], 5);
    assert!(refused.contains("UNSAFE_LISTEN"), "{refused}");
    let refused = cli.fails(&["serve", "--listen", "0.0.0.0:0"], 5);
    assert!(refused.contains("NO_CREDENTIALS"), "{refused}");
    assert!(cli.fails(&["serve", "--listen", "127.0.0.1:0"], 5).contains("NO_CREDENTIALS"));
}
