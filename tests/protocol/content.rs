//! Every kind of content, resources, prompts, completions, progress and log lines: from a guest to a client.

use serde_json::{Value, json};

use super::eras::modern;
use crate::support::Server;

fn showcase() -> Server {
    let server = Server::start();
    server.add("showcase");
    server
}

#[test]
fn all_kinds_of_content_arrive() {
    let server = showcase();
    let content = |tool: &str| server.call(tool, json!({})).0["result"]["content"].clone();
    assert_eq!(content("show_text")[0]["type"], "text");
    let image = content("show_image")[0].clone();
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert_eq!(content("show_audio")[0]["type"], "audio");
    assert_eq!(content("show_embedded")[0]["type"], "resource");
    assert_eq!(content("show_link")[0]["type"], "resource_link");
    assert!(content("show_mixed").as_array().unwrap().len() >= 3);
    let structured = server.call("show_structured", json!({}));
    assert!(structured.value().is_object());
}

#[test]
fn a_guests_error_keeps_its_words() {
    let server = showcase();
    let (code, message) = server.call("show_error", json!({})).failure();
    assert_eq!(code, "SHOW_CONFLICT");
    assert!(!message.is_empty());
}

#[test]
fn icons_and_meta_are_listed() {
    let server = showcase();
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["icons"][0]["src"].is_string()));
    assert!(tools.iter().any(|tool| tool["name"] == "zipfs_read" && tool["_meta"]["anthropic/maxResultSizeChars"] == 500_000));
}

#[test]
fn resources_are_listed_and_read() {
    let server = showcase();
    let listed = server.request("resources/list", json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = listed.as_array().unwrap().iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert!(uris.contains(&"show://static") && uris.contains(&"show://binary"), "{uris:?}");
    let templates = server.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "show://item/{id}");
    let read = |uri: &str| server.request("resources/read", json!({"uri": uri}));
    assert!(read("show://static")["result"]["contents"][0]["text"].is_string());
    assert!(read("show://binary")["result"]["contents"][0]["blob"].is_string());
    assert!(read("show://item/42")["result"]["contents"][0].to_string().contains("42"));
    assert_eq!(read("show://nothing")["error"]["code"], -32002);
    let newest = server.request("resources/read", modern(json!({"uri": "show://nothing"}), json!({})));
    assert_eq!(newest["error"]["code"], -32602, "{newest}");
}

#[test]
fn without_plugins_the_lists_are_empty() {
    let server = Server::start();
    assert_eq!(server.request("resources/list", json!({}))["result"]["resources"], json!([]));
    assert_eq!(server.request("resources/templates/list", json!({}))["result"]["resourceTemplates"], json!([]));
    assert_eq!(server.request("prompts/list", json!({}))["result"]["prompts"], json!([]));
}

#[test]
fn prompts_are_filled_in_and_completed() {
    let server = showcase();
    let listed = server.request("prompts/list", json!({}))["result"]["prompts"].clone();
    assert_eq!(listed[0]["name"], "greet");
    let filled = server.request("prompts/get", json!({"name": "greet", "arguments": {"name": "Ada"}}));
    assert!(filled["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("Ada"), "{filled}");
    let missing = server.request("prompts/get", json!({"name": "greet", "arguments": {}}));
    assert_eq!(missing["error"]["code"], -32602);
    assert!(missing["error"]["message"].as_str().unwrap().contains("name"));
    assert_eq!(server.request("prompts/get", json!({"name": "nobody"}))["error"]["code"], -32602);
    let complete = |value: &str| {
        let params = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "tone", "value": value}});
        server.request("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete("f").as_array().unwrap().len(), 3);
    assert_eq!(complete("fo"), json!(["formal"]));
}

#[test]
fn progress_comes_before_the_result_and_only_if_asked_for() {
    let server = showcase();
    server.call("show_progress", json!({}));
    assert!(server.others().iter().all(|message| message["method"] != "notifications/progress"));
    let id = server.begin("tools/call", json!({"name": "show_progress", "arguments": {}, "_meta": {"progressToken": 7}}));
    server.answer(id);
    let reports: Vec<Value> = server
        .others()
        .into_iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| message["params"].clone())
        .collect();
    let done: Vec<f64> = reports.iter().map(|report| report["progress"].as_f64().unwrap()).collect();
    assert_eq!(done, [0.0, 50.0, 100.0]);
    assert!(reports.iter().all(|report| report["progressToken"] == 7 && report["total"] == 100.0));
}

#[test]
fn log_lines_reach_clients_that_ask_for_them() {
    let server = showcase();
    let lines = || -> Vec<String> {
        let messages = server.others().into_iter().filter(|message| message["method"] == "notifications/message");
        messages.map(|message| message["params"]["level"].as_str().unwrap().to_owned()).collect()
    };
    server.call("show_log", json!({}));
    assert_eq!(lines(), Vec::<String>::new());
    let quiet = server.request("tools/call", modern(json!({"name": "show_log", "arguments": {}}), json!({})));
    assert!(quiet["result"].is_object() && lines().is_empty(), "{quiet}");
    server.request("logging/setLevel", json!({"level": "error"}));
    server.call("show_log", json!({}));
    assert_eq!(lines(), ["error", "critical", "alert", "emergency"]);
}
