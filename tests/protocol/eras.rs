//! The handshake of older revisions and the stateless newest one, on the same pipe.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Archive, Server};

/// Parameters with what the stateless revision wants in each request.
pub fn modern(mut params: Value, capabilities: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "tests", "version": "0"});
    params
}

fn fresh() -> Server {
    Server::on(Arc::new(tempfile::tempdir().unwrap()))
}

#[test]
fn every_older_revision_is_spoken() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let server = fresh();
        let answer = server.request(
            "initialize",
            json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}),
        );
        assert_eq!(answer["result"]["protocolVersion"], revision);
        assert_eq!(answer["result"]["serverInfo"]["name"], "zipfs");
        server.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let listed = server.request("tools/list", json!({}));
        assert!(listed["result"]["tools"].as_array().unwrap().len() >= 7);
        assert!(listed["result"].get("resultType").is_none(), "older clients do not know it");
        assert_eq!(server.request("ping", json!({}))["result"], json!({}));
    }
}

#[test]
fn the_stateless_revision_needs_no_handshake() {
    let server = fresh();
    let found = server.request("server/discover", modern(json!({}), json!({})));
    let result = &found["result"];
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    assert!(result["capabilities"]["tools"].is_object());
    let archive = Archive::of(&[("a.txt", "1")]);
    let called =
        server.request("tools/call", modern(json!({"name": "zipfs_open", "arguments": {"path": archive.path()}}), json!({})));
    let result = &called["result"];
    assert_eq!(result["resultType"], "complete", "{called}");
    assert_eq!(result["structuredContent"]["file_count"], 1);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "zipfs");
    let listed = server.request("tools/list", modern(json!({}), json!({})));
    let result = &listed["result"];
    assert!(result["ttlMs"].as_u64().unwrap() > 0 && result["cacheScope"] == "public", "{result}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "zipfs");
    // What only the older revisions have does not exist here.
    for method in ["ping", "logging/setLevel"] {
        let refused = server.request(method, modern(json!({"level": "info"}), json!({})));
        assert_eq!(refused["error"]["code"], -32601, "{method}: {refused}");
    }
    let unsupported = server.request("tools/list", {
        let mut params = modern(json!({}), json!({}));
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
        params
    });
    assert_eq!(unsupported["error"]["code"], -32022, "{unsupported}");
}

#[test]
fn instructions_teach_the_workflow_and_stay_short() {
    let server = fresh();
    let told = server.handshake(json!({}));
    let text = told["instructions"].as_str().unwrap();
    assert!(text.chars().count() <= 2000, "{} characters", text.chars().count());
    for word in ["zipfs_open", "zipfs_sync", "zipfs_close", "session"] {
        assert!(text.contains(word), "{word} is missing");
    }
    let discovered = server.request("server/discover", modern(json!({}), json!({})));
    assert_eq!(discovered["result"]["instructions"], text);
}

#[test]
fn tools_are_listed_in_order_with_all_hints() {
    let server = Server::start();
    let first = server.request("tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(first, server.request("tools/list", json!({}))["result"]["tools"]);
    let tools = first.as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'),
            "{name}"
        );
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} has no {hint}");
        }
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        assert!(tool["description"].as_str().unwrap().len() > 40, "{name}");
    }
    let hint = |name: &str, hint: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["annotations"][hint].clone();
    assert_eq!(hint("zipfs_read", "readOnlyHint"), true);
    for reads in ["zipfs_ls", "zipfs_path", "zipfs_sessions", "zipfs_status"] {
        assert_eq!(hint(reads, "readOnlyHint"), true, "{reads}");
    }
    for changes in ["zipfs_open", "zipfs_sync", "zipfs_close"] {
        assert_eq!(hint(changes, "readOnlyHint"), false, "{changes}");
    }
    assert_eq!(hint("zipfs_write", "readOnlyHint"), false);
    assert_eq!(hint("zipfs_write", "destructiveHint"), true);
    assert_eq!(hint("zipfs_close", "destructiveHint"), true);
    let session =
        |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"]["properties"].get("session").is_some();
    assert!(session("zipfs_read") && session("zipfs_close") && !session("zipfs_open") && !session("zipfs_sessions"));
}
