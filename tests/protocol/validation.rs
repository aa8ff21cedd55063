//! Arguments are checked by the host, against the tool's own schema, before the guest runs.

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn wrong_arguments_are_named_with_what_was_expected() {
    let server = Server::start();
    server.add("showcase");
    let wrong = |arguments: serde_json::Value| server.call("show_arguments", arguments).fails("INVALID_PARAMS");
    let message = wrong(json!({}));
    assert!(message.contains("`text` is required"), "{message}");
    let message = wrong(json!({"text": 7}));
    assert!(message.contains("`text`") && message.contains("string") && message.contains("number"), "{message}");
    let message = wrong(json!({"text": "hello", "count": 9}));
    assert!(message.contains("`count`") && message.contains('5'), "{message}");
    let message = wrong(json!({"text": "hello", "mode": "sideways"}));
    assert!(message.contains("`mode`"), "{message}");
    let message = wrong(json!({"text": "x".repeat(5000)}));
    assert!(message.len() < 600, "a message does not repeat the whole value: {}", message.len());
    server.call("show_arguments", json!({"text": "hello", "count": 5})).value();
}

#[test]
fn unknown_tools_are_an_error_of_the_protocol() {
    let server = Server::start();
    let answer = server.request("tools/call", json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = server.request("no/such/method", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

#[test]
fn dotted_names_are_listed_portably_and_called_either_way() {
    let server = Server::start();
    server.add("showcase");
    let listed = server.request("tools/list", json!({}))["result"]["tools"].to_string();
    assert!(listed.contains("\"show_dotted\"") && !listed.contains("\"show.dotted\""));
    for name in ["show_dotted", "show.dotted"] {
        assert_ne!(server.call(name, json!({})).0["result"]["isError"], true, "{name}");
    }
    let verbatim = Server::with(json!({"tool_names": "verbatim"}));
    verbatim.add("showcase");
    assert!(verbatim.request("tools/list", json!({}))["result"]["tools"].to_string().contains("\"show.dotted\""));
}

#[test]
fn the_session_argument_never_reaches_a_guest() {
    let server = Server::start();
    server.add("showcase");
    let archive = Archive::of(&[("a", "1"), ("b", "2")]);
    let session = server.open(&archive);
    let counted = session.call("show_count_files", json!({}));
    assert_ne!(counted.0["result"]["isError"], true, "{counted:?}");
    assert!(counted.0.to_string().contains('2'), "{counted:?}");
}
