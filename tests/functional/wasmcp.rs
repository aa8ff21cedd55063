//! Components made for wasmcp are plugins as they are: what they list is offered, and their calls are calls.

use serde_json::{Value, json};

use crate::support::{Archive, Server, guest};

fn server() -> Server {
    let server = Server::start();
    server.add("wasmcp");
    server
}

fn tools(server: &Server) -> Vec<Value> {
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    listed.as_array().unwrap().iter().filter(|tool| tool["name"].as_str().unwrap().starts_with("wasm_")).cloned().collect()
}

#[test]
fn what_it_lists_is_offered_page_by_page() {
    let server = server();
    let listed = tools(&server);
    assert_eq!(listed.len(), 14, "{listed:?}");
    let tool = |name: &str| listed.iter().find(|tool| tool["name"] == name).unwrap().clone();
    let add = tool("wasm_add");
    assert_eq!((&add["title"], &add["description"]), (&json!("Add two numbers"), &json!("Adds two numbers. Returns {sum}.")));
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(add["outputSchema"]["required"], json!(["sum"]));
    assert_eq!(tool("wasm_forget")["description"], "Calls `wasm_forget`.");
    // A hint that it only reads is held to; without one it counts as what it could do.
    assert_eq!((&add["annotations"]["readOnlyHint"], &add["annotations"]["idempotentHint"]), (&json!(true), &json!(true)));
    assert_eq!(tool("wasm_write")["annotations"]["readOnlyHint"], json!(false));
    // Its name is that of the file; the label says what it cannot do.
    assert!(server.cli().ok(&["plugin", "list"]).contains("wasmcp 0.0.0"));
    assert!(server.cli().ok(&["plugin", "info", "wasmcp"]).contains("does not import wasi:http"));
}

#[test]
fn calls_give_text_structure_pictures_and_streams() {
    let server = server();
    server.call("wasm_add", json!({"a": 2, "b": -5.5})).is(json!({"sum": -3.5}));
    let told = server.call("wasm_context", json!({"deep": {"er": [1, null]}})).value();
    let expected = json!({"revision": "2025-06-18", "stream": false, "session": false, "identity": false,
                          "arguments": {"deep": {"er": [1, null]}}});
    assert_eq!(told, expected);
    let picture = server.call("wasm_picture", json!({})).0;
    assert_eq!(picture["result"]["content"], json!([{"type": "image", "data": "AQID/w==", "mimeType": "image/png"}]));
    let archive = Archive::of(&[("a.txt", "from the archive")]);
    let session = server.open(&archive);
    for tool in ["wasm_read", "wasm_peek"] {
        let read = session.call(tool, json!({})).0;
        assert_eq!(read["result"]["content"], json!([{"type": "text", "text": "from the archive"}]), "{tool}");
    }
    assert!(!session.path.join("planted").exists(), "it hinted that it reads, and wrote");
    session.call("wasm_write", json!({})).value();
    assert_eq!(std::fs::read_to_string(session.path.join("b.txt")).unwrap(), "new");
}

#[test]
fn errors_are_errors_with_their_code() {
    let server = server();
    let reply = server.call("wasm_fail", json!({}));
    assert_eq!(reply.failure(), ("TOOL_FAILED".into(), "It is Sunday.".into()));
    assert_eq!(reply.0["result"]["structuredContent"]["error"]["details"], json!({"day": "Sunday"}));
    let reply = server.call("wasm_invalid", json!({}));
    assert_eq!(reply.failure(), ("INVALID_PARAMS".into(), "`a` is odd.".into()));
    assert_eq!(reply.0["result"]["structuredContent"]["error"]["details"], json!({"code": -32602, "data": {"argument": "a"}}));
    let message = server.call("wasm_forget", json!({})).fails("TOOL_FAILED");
    assert!(message.contains("wasm_forget"), "{message}");
    // What does not fit the schema does not reach it.
    server.call("wasm_add", json!({"a": "1", "b": 2})).fails("INVALID_PARAMS");
}

#[test]
fn a_manifest_gives_it_a_name_words_and_less() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(guest("wasmcp"), folder.path().join("it.wasm")).unwrap();
    let manifest = "name = \"sums\"\nversion = \"2.0.0\"\n[workspace]\naccess = \"read\"\nwhy = \"Reads a.txt.\"\n\
                    [function.wasm_add]\ndescription = \"Adds. Returns {sum}.\"\narguments = { a = \"The first.\" }\n";
    std::fs::write(folder.path().join("plugin.toml"), manifest).unwrap();
    server.cli().ok(&["plugin", "add", "--yes", folder.path().to_str().unwrap()]);
    assert!(server.cli().ok(&["plugin", "list"]).contains("sums 2.0.0"));
    let add = tools(&server).into_iter().find(|tool| tool["name"] == "wasm_add").unwrap();
    assert_eq!(add["description"], "Adds. Returns {sum}.");
    assert_eq!(add["inputSchema"]["properties"]["a"]["description"], "The first.");
    let archive = Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    session.call("wasm_write", json!({})).fails("TOOL_FAILED");
    assert!(!session.path.join("b.txt").exists(), "asked to read, and wrote");
    std::fs::write(folder.path().join("plugin.toml"), format!("{manifest}[function.other]\ntitle = \"?\"\n")).unwrap();
    server.cli().ok(&["plugin", "remove", "sums"]);
    let said = server.cli().fails(&["plugin", "add", "--yes", folder.path().to_str().unwrap()], 1);
    assert!(said.contains("other") && said.contains("wasm_add"), "{said}");
}
