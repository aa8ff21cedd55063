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

#[test]
fn what_a_guest_says_of_its_plugin_is_told_to_those_who_listen() {
    let server = Server::start();
    server.add("showcase");
    server.wait("the news of the plugin", |message| message["method"] == "notifications/tools/list_changed");
    for uri in ["show://item/3", "show://item/4", "show://item/4"] {
        assert_eq!(server.request("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    }
    assert_eq!(server.request("resources/unsubscribe", json!({"uri": "show://item/3"}))["result"], json!({}));
    let wanted = json!({"notifications": {"promptsListChanged": true, "resourceSubscriptions": ["show://item/5"]}});
    server.begin("subscriptions/listen", modern(wanted, json!({})));
    server.wait("the acknowledgement", |message| message["method"] == "notifications/subscriptions/acknowledged");
    server.call("show_changes", json!({}));
    let updated = |uri: &str| {
        let uri = json!(uri);
        move |message: &serde_json::Value| message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
    };
    server.wait("news for the older client", updated("show://item/4"));
    server.wait("news for the subscriber", updated("show://item/5"));
    let prompts = |message: &serde_json::Value| message["method"] == "notifications/prompts/list_changed";
    server.wait("prompts for the older client", |message| prompts(message) && message["params"]["_meta"].is_null());
    server.wait("prompts for the subscriber", |message| prompts(message) && !message["params"]["_meta"].is_null());
    assert!(!server.others().iter().any(updated("show://item/3")), "nobody watches it any more");
}

#[test]
fn a_guest_cannot_flood_listeners() {
    let server = Server::start();
    server.add("showcase");
    for number in 0..40 {
        server.request("resources/subscribe", json!({"uri": format!("show://item/{number}")}));
    }
    server.call("show_changes", json!({}));
    server.wait("news", |message| message["method"] == "notifications/resources/updated");
    std::thread::sleep(std::time::Duration::from_millis(500));
    server.request("ping", json!({}));
    let news = server.others();
    let count = |method: &str| news.iter().filter(|message| message["method"] == format!("notifications/{method}")).count();
    assert!(count("resources/updated") <= 16 && count("prompts/list_changed") <= 3, "{news:?}");
}

#[test]
fn watches_are_bounded() {
    let server = Server::start();
    let refused = (0..300).find(|number| {
        let answer = server.request("resources/subscribe", json!({"uri": format!("show://item/{number}")}));
        answer.get("error").is_some()
    });
    assert_eq!(refused, Some(256));
}
