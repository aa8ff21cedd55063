//! Endpoints: unix sockets and gRPC, by name and by nothing else.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Grpc, Plugin, Server, self_signed};

const TABLES: &str =
    "[[endpoint]]\nname = \"helper\"\nkind = \"unix\"\nwhy = \"Tests.\"\n[[endpoint]]\nname = \"array\"\nkind = \"grpc\"\n";

/// Answers each line in capitals; `silence` gets no answer, `flood` too much.
fn helper(path: &Path) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut line = String::new();
                let mut reader = BufReader::new(&stream);
                let _ = reader.read_line(&mut line);
                match line.trim() {
                    "silence" => std::thread::sleep(Duration::from_secs(20)),
                    "flood" => while (&stream).write_all(&[b'x'; 4096]).is_ok() {},
                    said => drop((&stream).write_all(format!("{}\n", said.to_uppercase()).as_bytes())),
                }
            });
        }
    });
}

fn line(server: &Server, endpoint: &str, text: &str) -> crate::support::Reply {
    server.call("services_line", json!({"endpoint": endpoint, "text": text}))
}

fn unary(server: &Server, method: &str, text: &str) -> crate::support::Reply {
    server.call("services_unary", json!({"endpoint": "array", "method": method, "text": text, "timeout_ms": 2000}))
}

#[test]
fn a_socket_is_reached_by_its_name_while_that_is_granted() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("helper.sock");
    helper(&socket);
    let server = Server::having(&Plugin::of("services", TABLES), &[], json!({}));
    line(&server, "helper", "hello").fails("CAPABILITY_REFUSED");
    server.grant("services", &format!("endpoint=helper:{}", socket.display()));
    assert_eq!(line(&server, "helper", "hello").value()["answer"], "HELLO");
    // Names are all a guest has: neither paths nor what was not granted.
    for name in ["array", "other", socket.to_str().unwrap(), "", "../helper"] {
        line(&server, name, "hello").fails("ENDPOINT_REFUSED");
    }
    server.call("services_line_undeclared", json!({"endpoint": "helper", "text": "hello"})).fails("CAPABILITY_REFUSED");
    unary(&server, "/a.B/C", "x").fails("ENDPOINT_REFUSED");
    server.revoke("services", &["endpoint=helper"]);
    line(&server, "helper", "hello").fails("CAPABILITY_REFUSED");
}

#[test]
fn a_socket_is_bounded_and_can_be_missing() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("helper.sock");
    let config = json!({"calls": {"deadline_ms": 1000}, "egress": {"response_bytes": 100_000, "request_bytes": 10_000}});
    let server = Server::having(&Plugin::of("services", TABLES), &[&format!("endpoint=helper:{}", socket.display())], config);
    line(&server, "helper", "hello").fails("ENDPOINT_UNREACHABLE");
    helper(&socket);
    line(&server, "helper", "flood").fails("LIMIT_EXCEEDED");
    line(&server, "helper", &"x".repeat(20_000)).fails("LIMIT_EXCEEDED");
    let began = Instant::now();
    line(&server, "helper", "silence").fails("TIMEOUT");
    assert!(began.elapsed() < Duration::from_millis(1500));
    assert_eq!(line(&server, "helper", "hello").value()["answer"], "HELLO");
}

#[test]
fn revoking_ends_a_call_that_waits_for_a_socket() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("helper.sock");
    helper(&socket);
    let server = Server::having(&Plugin::of("services", TABLES), &[&format!("endpoint=helper:{}", socket.display())], json!({}));
    let id = server.begin("tools/call", json!({"name": "services_line", "arguments": {"endpoint": "helper", "text": "silence"}}));
    std::thread::sleep(Duration::from_millis(300));
    server.revoke("services", &[]);
    let answer = server.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "GRANT_REVOKED", "{answer}");
}

#[test]
fn grpc_is_called_once_there_and_once_back() {
    let service = Grpc::start(None);
    let server = Server::having(&Plugin::of("services", TABLES), &[], json!({"egress": {"response_bytes": 100_000}}));
    unary(&server, "/test.Echo/Say", "hello").fails("CAPABILITY_REFUSED");
    server.grant("services", &format!("endpoint=array:http://127.0.0.1:{}", service.port));
    let said = unary(&server, "/test.Echo/Say", "hello").value();
    assert_eq!(said, json!({"answer": "hello", "status": 0, "status_message": ""}));
    let seen = service.seen();
    assert_eq!((seen[0].0.as_str(), seen[0].1.as_str()), ("/test.Echo/Say", "7"));
    assert_eq!(unary(&server, "/test.Echo/Refuse", "x").value(), json!({"answer": "", "status": 7, "status_message": "not you"}));
    unary(&server, "/test.Echo/Flood", "x").fails("LIMIT_EXCEEDED");
    unary(&server, "/test.Echo/Silence", "x").fails("TIMEOUT");
    unary(&server, "/test.Echo/Nonsense", "x").fails("ENDPOINT_FAILED");
    for odd in ["test.Echo/Say", "/test.Echo", "/test.Echo/Say?x=y", "http://evil/test.Echo/Say"] {
        unary(&server, odd, "x").fails("INVALID_PARAMS");
    }
    server.revoke("services", &["endpoint"]);
    unary(&server, "/test.Echo/Say", "hello").fails("CAPABILITY_REFUSED");
}

#[test]
fn grpc_over_tls_trusts_the_certificates_of_its_grant_only() {
    let place = tempfile::tempdir().unwrap();
    let (certificate, other) = (self_signed("localhost"), self_signed("localhost"));
    let write = |name: &str, pem: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let (own, wrong) = (write("own.pem", &certificate.pem), write("wrong.pem", &other.pem));
    let service = Grpc::start(Some(&certificate));
    let server = Server::having(&Plugin::of("services", TABLES), &[], json!({}));
    let address = format!("endpoint=array:https://localhost:{}", service.port);
    for untrusted in [address.clone(), format!("{address},ca={wrong}")] {
        server.grant("services", &untrusted);
        let message = unary(&server, "/test.Echo/Say", "hello").fails("ENDPOINT_UNREACHABLE");
        assert!(message.contains("certificate"), "{message}");
    }
    server.grant("services", &format!("{address},ca={own}"));
    assert_eq!(unary(&server, "/test.Echo/Say", "hello").value()["answer"], "hello");
}

#[test]
fn grpc_over_a_unix_socket_is_the_same() {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("grpc.sock");
    let _service = Grpc::on_socket(&socket);
    let server = Server::having(&Plugin::of("services", TABLES), &[&format!("endpoint=array:{}", socket.display())], json!({}));
    assert_eq!(unary(&server, "/test.Echo/Say", "hello").value()["answer"], "hello");
}

#[test]
fn a_tool_that_uses_an_endpoint_does_not_count_as_read_only() {
    let server = Server::having(&Plugin::of("services", TABLES), &[], json!({}));
    let listed: Value = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "services_line").unwrap().clone();
    assert_eq!(tool["annotations"]["readOnlyHint"], false);
}
