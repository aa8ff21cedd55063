//! Both eras on one address, one plugin alone, and TLS.

use std::process::Command;

use serde_json::json;

use crate::support::{Service, have, run};

#[test]
fn both_eras_are_answered_at_one_address() {
    let service = Service::local(json!({}));
    let agent = service.agent("");
    let session = agent.handshake();
    let listed = agent.legacy(&session, json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert!(listed.json()["result"]["tools"].as_array().unwrap().len() > 10);
    assert_eq!(agent.tools().len(), listed.json()["result"]["tools"].as_array().unwrap().len());
    assert_eq!(agent.legacy("", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).status, 400, "no session");
    // The newest revision: headers say what the body says, and there is nothing of the older ones.
    let body = |version: &str| {
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}}})
        .to_string()
    };
    let send = |version: &str, method: &str, body: &str| {
        service.send("POST /mcp", &[("mcp-protocol-version", version), ("mcp-method", method)], body.as_bytes())
    };
    assert_eq!(send("2026-07-28", "tools/list", &body("2026-07-28")).status, 200);
    let mismatch = send("2026-07-28", "tools/call", &body("2026-07-28"));
    assert_eq!((mismatch.status, mismatch.json()["error"]["code"].clone()), (400, json!(-32020)));
    let unknown = send("2030-01-01", "tools/list", &body("2030-01-01"));
    assert_eq!((unknown.status, unknown.json()["error"]["code"].clone()), (400, json!(-32022)), "{unknown:?}");
    assert_eq!(agent.ask("ping", json!({})).status, 404);
    assert_eq!(agent.ask("logging/setLevel", json!({"level": "info"})).status, 404);
    assert_eq!(
        service.send("GET /mcp", &[("mcp-protocol-version", "2026-07-28"), ("accept", "text/event-stream")], b"").status,
        405
    );
    assert_eq!(service.send("GET /nothing", &[], b"").json(), json!({"error": "Not found"}));
    let health = service.send("GET /health", &[], b"");
    assert_eq!((health.status, health.json()["status"].clone()), (200, json!("ok")));
}

#[test]
fn one_plugin_is_served_alone_under_its_own_name() {
    let service = Service::local(json!({}));
    service.add("showcase");
    let mut agent = service.agent("");
    agent.path = "/mcp/showcase".into();
    let tools = agent.tools();
    assert!(tools.contains(&"show.dotted".to_owned()) && !tools.iter().any(|name| name.starts_with("zipfs_")), "{tools:?}");
    let found = agent.ask("server/discover", json!({})).json();
    assert_eq!(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "showcase");
    assert!(agent.call("zipfs_sessions", json!({})).0["error"]["code"] == -32602, "what is not offered is not there");
    agent.path = "/mcp/nothing".into();
    assert_eq!(agent.ask("tools/list", json!({})).status, 404);
    let alone = Service::on(service.data_handle(), &["--allow-local", "--only", "showcase"]);
    assert!(alone.agent("").tools().contains(&"show.dotted".to_owned()));
    let mut other = alone.agent("");
    other.path = "/mcp/zipfs".into();
    assert_eq!(other.ask("tools/list", json!({})).status, 404);
    assert_eq!(other.upload("", b"x").status, 404);
}

#[test]
fn a_certificate_makes_it_tls() {
    if !have("openssl", "TLS is spoken") || !have("curl", "TLS is spoken") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let subject = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ];
    run("openssl", &[&subject[..], &["-addext", "subjectAltName=DNS:localhost"]].concat(), place.path());
    let path = |name: &str| place.path().join(name).display().to_string();
    let (certificate, key) = (path("cert.pem"), path("key.pem"));
    let service = Service::on(Service::prepare(json!({})), &["--allow-local", "--tls-cert", &certificate, "--tls-key", &key]);
    let url = format!("https://localhost:{}/health", service.address.port());
    let fetch = |more: &[&str]| {
        let output = Command::new("curl").args(["-s", "--max-time", "20"]).args(more).arg(&url).output().expect("curl");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(fetch(&["--cacert", &certificate]).contains("ok"));
    assert_eq!(fetch(&[]), "", "not by somebody who does not trust it");
    assert_ne!(service.send("GET /health", &[], b"").status, 200, "nor without TLS");
    let wrong =
        service.cli().fails(&["serve", "--allow-local", "--listen", "127.0.0.1:0", "--tls-cert", &key, "--tls-key", &key], 1);
    assert!(wrong.contains("--tls-cert"), "{wrong}");
}
