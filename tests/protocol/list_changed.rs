//! Plugins come and go while the server runs, and clients of both eras hear of it.

use serde_json::json;

use super::eras::modern;
use crate::support::Server;

#[test]
fn clients_of_both_eras_are_told() {
    let server = Server::start();
    let id = server.begin("subscriptions/listen", modern(json!({"notifications": {"toolsListChanged": true}}), json!({})));
    server.wait("the acknowledgement", |message| message["method"] == "notifications/subscriptions/acknowledged");
    server.add("noop");
    let changed = |message: &serde_json::Value| message["method"] == "notifications/tools/list_changed";
    let older = server.wait("the news for older clients", |message| changed(message) && message["params"]["_meta"].is_null());
    let newer = server.wait("the news for subscribers", |message| changed(message) && !message["params"]["_meta"].is_null());
    assert_ne!(older, newer);
    assert!(newer.to_string().contains(&id.to_string()), "{newer}");
    assert!(server.request("tools/list", json!({}))["result"]["tools"].to_string().contains("\"noop\""));
    server.call("noop", json!({})).value();
    server.cli().ok(&["plugin", "remove", "noop"]);
    server.wait("the news of the removal", changed);
    let gone = server.request("tools/call", json!({"name": "noop", "arguments": {}}));
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
}

#[test]
fn a_plugin_is_usable_at_once() {
    let server = Server::start();
    server.add("noop");
    // Not waiting for any news.
    server.call("noop", json!({})).value();
}

#[test]
fn news_are_told_even_if_a_request_saw_the_change_first() {
    let server = Server::start();
    server.add("noop");
    server.request("prompts/list", json!({}));
    server.wait("the news", |message| message["method"] == "notifications/tools/list_changed");
}
