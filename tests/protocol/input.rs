//! Tools that ask: one guest, two wires.

use serde_json::{Value, json};

use super::eras::modern;
use crate::support::Server;

fn asks() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

/// Calls in the stateless revision.
fn call(server: &Server, tool: &str, capabilities: Value, more: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": {}});
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    server.request("tools/call", modern(params, capabilities))
}

#[test]
fn a_stateless_client_gets_the_question_as_the_result() {
    let server = Server::start();
    server.add("showcase");
    let asked = call(&server, "show_ask", asks(), json!({}));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let requests = result["inputRequests"].as_object().unwrap();
    let (name, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let state = result["requestState"].as_str().unwrap();
    let answers = json!({name: {"action": "accept", "content": {"name": "Ada"}}});
    let done = call(&server, "show_ask", asks(), json!({"inputResponses": answers, "requestState": state}));
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Hello, Ada!"), "{done}");
    // Changed, foreign or missing state is refused before any guest runs.
    let mut forged = state.to_owned();
    forged.replace_range(state.len() - 4.., "AAAA");
    for state in [json!(forged), json!("nonsense")] {
        let refused = call(&server, "show_ask", asks(), json!({"inputResponses": answers, "requestState": state}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    // Answers to a question that nobody can show to have been asked are no answers.
    let again = call(&server, "show_ask", asks(), json!({"inputResponses": answers}));
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    let elsewhere = call(&server, "show_ask_twice", asks(), json!({"inputResponses": answers, "requestState": state}));
    assert_eq!(elsewhere["error"]["code"], -32602, "state of one tool is no state of another: {elsewhere}");
}

#[test]
fn a_client_that_cannot_answer_is_not_asked() {
    let server = Server::start();
    server.add("showcase");
    let refused = call(&server, "show_ask", json!({}), json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    assert!(refused["error"]["data"]["requiredCapabilities"]["elicitation"].is_object(), "{refused}");
    // Older clients know no such error: to them it is the tool that cannot go on.
    server.call("show_ask", json!({})).fails("CLIENT_CANNOT_ANSWER");
}

#[test]
fn an_older_client_is_asked_while_the_call_waits() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let server = Server::on(data);
    server.handshake(asks());
    server.add("showcase");
    let id = server.begin("tools/call", json!({"name": "show_ask", "arguments": {}}));
    let asked = server.wait("a question", |message| message["method"] == "elicitation/create");
    assert!(asked["params"]["requestedSchema"]["properties"]["name"].is_object(), "{asked}");
    server.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}));
    let done = server.answer(id);
    assert!(done["result"]["content"][0]["text"].as_str().unwrap().contains("Hello, Ada!"), "{done}");
}
