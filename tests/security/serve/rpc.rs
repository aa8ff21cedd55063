//! JSON-RPC at `POST /`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Response, Service, guest};

/// A service with the showcase, some of whose tools answer methods.
fn service(config: Value) -> (Service, String, tempfile::TempDir) {
    let (service, [token]) = Service::with(config, [("a", &[])]);
    let plugin = tempfile::tempdir().unwrap();
    let manifest = "name = \"showcase\"\nversion = \"0.1.0\"\n[workspace]\naccess = \"read\"\n[methods]\n\"show.text\" = \"show_text\"\n\
                    \"show.structured\" = \"show_structured\"\n\"show.error\" = \"show_error\"\n\"show.arguments\" = \"show_arguments\"\n\
                    \"show.others\" = \"zipfs_sessions\"\n";
    std::fs::write(plugin.path().join("plugin.toml"), manifest).unwrap();
    let wasm: PathBuf = guest("showcase");
    std::fs::copy(wasm, plugin.path().join("showcase.wasm")).unwrap();
    service.cli().ok(&["plugin", "add", "--yes", plugin.path().to_str().unwrap()]);
    (service, token, plugin)
}

#[test]
fn methods_are_answered_by_their_tools() {
    let (service, token, _plugin) = service(json!({}));
    let agent = service.agent(&token);
    let ask = |body: Value| agent.rpc(&body.to_string());
    let reply = ask(json!({"jsonrpc": "2.0", "method": "show.text", "id": "x"}));
    assert_eq!(reply.status, 200, "{reply:?}");
    let message = reply.json();
    assert!(message["result"].is_string() && message["id"] == "x" && message.get("error").is_none(), "{message}");
    let structured = ask(json!({"jsonrpc": "2.0", "method": "show.structured", "id": 7})).json();
    assert!(structured["result"]["numbers"].is_array() && structured["id"] == 7, "{structured}");
    let failed = ask(json!({"jsonrpc": "2.0", "method": "show.error", "id": 1, "params": {}}));
    assert_eq!((failed.status, failed.json()["error"]["code"].clone()), (200, json!(409)), "{failed:?}");
    assert!(failed.json()["error"]["data"]["type"].is_string());

    let code = |body: Value| ask(body).json()["error"]["code"].clone();
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": "show.nothing", "id": 1})), -32601);
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": "show.others", "id": 1})), -32601, "a method of another plugin's tool");
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": "show.arguments", "id": 1, "params": {"count": "many"}})), -32602);
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": "show.arguments", "id": 1, "params": [1]})), -32602);
    assert_eq!(code(json!({"method": "show.text", "id": 1})), -32600);
    assert_eq!(code(json!({"jsonrpc": "1.0", "method": "show.text", "id": 1})), -32600);
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": 5, "id": 1})), -32600);
    assert_eq!(code(json!({"jsonrpc": "2.0", "method": "show.text", "id": {}})), -32600);
    assert_eq!(code(json!(5)), -32600);
    assert_eq!(agent.rpc("{\"jsonrpc\": \"2.0\",").json()["error"]["code"], -32700);
    let mcp = ask(json!({"jsonrpc": "2.0", "method": "tools/list", "id": 1})).json();
    assert!(mcp["error"]["code"] == -32601 && mcp["error"]["message"].as_str().unwrap().contains("/mcp"), "{mcp}");
    let told = ask(json!({"jsonrpc": "2.0", "method": "show.text"}));
    assert_eq!((told.status, told.body.len()), (204, 0), "a notification");
    assert_eq!(service.agent("").rpc("{}").status, 401);
}

#[test]
fn batches_are_answered_in_order_and_bounded() {
    let (service, token, _plugin) = service(json!({}));
    let agent = service.agent(&token);
    let one = |id: Value| json!({"jsonrpc": "2.0", "method": "show.text", "id": id});
    let batch = json!([one(json!(1)), {"jsonrpc": "2.0", "method": "show.text"}, 5, one(json!("b")), {"jsonrpc": "2.0", "method": "no", "id": 9}]);
    let answers = agent.rpc(&batch.to_string()).json();
    let ids: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &Value::Null, &json!("b"), &json!(9)]);
    assert_eq!(agent.rpc("[]").json()["error"]["code"], -32600);
    let many: Vec<Value> = (0..65).map(|id| one(json!(id))).collect();
    assert_eq!(agent.rpc(&json!(many).to_string()).json()["error"]["code"], -32600);
    let notices = json!([{"jsonrpc": "2.0", "method": "show.text"}, {"jsonrpc": "2.0", "method": "show.text"}]);
    assert_eq!(agent.rpc(&notices.to_string()).status, 204);
}

#[test]
fn the_status_tells_as_well_where_that_is_wanted() {
    let (service, token, _plugin) = service(json!({"http": {"rpc_status": true}}));
    let agent = service.agent(&token);
    let status = |body: &str| -> Response { agent.rpc(body) };
    assert_eq!(status(r#"{"jsonrpc":"2.0","method":"show.text","id":1}"#).status, 200);
    assert_eq!(status(r#"{"jsonrpc":"2.0","method":"show.error","id":1}"#).status, 409);
    assert_eq!(status(r#"{"jsonrpc":"2.0","method":"none","id":1}"#).status, 404);
    assert_eq!(status(r#"{"method":"show.text"}"#).status, 400);
    assert_eq!(status("{").status, 400);
}
