//! Who may do what: manifest, grant and tool have to agree, and the grant can go at any moment.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Plugin, Server, Web, Zipfs};

const ANY: &str = "[[http]]\nhost = \"*\"\nmethods = [\"GET\"]\nwhy = \"Tests.\"\n";

/// A server that never answers, so that a call that asks it runs until somebody ends it.
fn silent() -> Web {
    Web::start(|_, _| {
        std::thread::sleep(Duration::from_secs(30));
        Ok(())
    })
}

fn wait_for(what: &str, happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < Duration::from_secs(10), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn failure(answer: &Value) -> (String, String) {
    let error = &answer["result"]["structuredContent"]["error"];
    (error["code"].as_str().unwrap_or_default().to_owned(), error["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn revoking_ends_running_calls() {
    let silent = silent();
    let grant = format!("http=http://{}", silent.address);
    // The best of three: a busy machine can delay an end, not bring it forward.
    let best = (1..=3).map(|round| {
        let server = Server::having(&Plugin::of("web", ANY), &[&grant], json!({}));
        let before = silent.seen().len();
        let id = server.begin("tools/call", json!({"name": "web_send", "arguments": {"url": silent.url("/")}}));
        wait_for("the request", || silent.seen().len() > before);
        // The command itself takes a while to start; what counts is the moment in which the file is another.
        let file = server.data().join("grants.toml");
        let old = std::fs::metadata(&file).unwrap().modified().unwrap();
        server.revoke("web", &["http"]);
        let revoked = std::fs::metadata(&file).unwrap().modified().unwrap();
        assert!(revoked > old);
        let (code, message) = failure(&server.answer(id));
        let took = revoked.elapsed().unwrap_or_default();
        assert_eq!(code, "GRANT_REVOKED", "{message}");
        assert!(message.contains("http") && message.contains("web"), "{message}");
        server.call("web_send", json!({"url": silent.url("/")})).fails("CAPABILITY_REFUSED");
        server.call("web_ok", json!({})).value();
        assert!(round <= 3);
        took
    });
    let best = best.min().unwrap();
    assert!(best <= Duration::from_millis(100), "{best:?}");
}

#[test]
fn a_guest_that_only_computes_ends_with_its_grant_too() {
    let tables = "[limits]\ncpu_ms = 60000\ndeadline_ms = 60000\n";
    let server =
        Server::having(&Plugin::of("appetite", tables), &["limits"], json!({"calls": {"deadline_ms": 20_000, "cpu_ms": 20_000}}));
    let id = server.begin("tools/call", json!({"name": "appetite_cpu", "arguments": {"amount": 30_000}}));
    std::thread::sleep(Duration::from_millis(300));
    server.revoke("appetite", &["limits"]);
    let began = Instant::now();
    assert_eq!(failure(&server.answer(id)).0, "GRANT_REVOKED");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn other_grants_and_other_plugins_go_without_ending_a_call() {
    let silent = silent();
    let tables = format!("{ANY}[[environment]]\nname = \"TZ\"\n");
    let server =
        Server::having(&Plugin::of("web", &tables), &[&format!("http=http://{}", silent.address), "env=TZ=UTC"], json!({}));
    Plugin::of("variables", "[[environment]]\nname = \"TZ\"\n").add(server.data(), &["env=TZ=UTC"]);
    let id = server.begin("tools/call", json!({"name": "web_send", "arguments": {"url": silent.url("/")}}));
    wait_for("the request", || !silent.seen().is_empty());
    server.revoke("web", &["env"]);
    server.revoke("variables", &[]);
    assert!(server.answer_within(id, Duration::from_millis(500)).is_none(), "the call ended");
    server.revoke("web", &[]);
    assert_eq!(failure(&server.answer(id)).0, "GRANT_REVOKED");
}

#[test]
fn a_call_of_a_plugin_that_is_removed_finishes() {
    let slow = Web::start(|_, out| {
        std::thread::sleep(Duration::from_millis(800));
        std::io::Write::write_all(out, &crate::support::reply(200, &[], "late"))
    });
    let server = Server::having(&Plugin::of("web", ANY), &[&format!("http=http://{}", slow.address)], json!({}));
    let id = server.begin("tools/call", json!({"name": "web_send", "arguments": {"url": slow.url("/")}}));
    wait_for("the request", || !slow.seen().is_empty());
    server.cli().ok(&["plugin", "remove", "web"]);
    assert_eq!(server.answer(id)["result"]["structuredContent"]["body"], "late");
    // And nothing of it is left.
    assert!(!std::fs::read_to_string(server.data().join("grants.toml")).unwrap().contains("web"));
}

#[test]
fn grants_expire_also_under_a_running_call() {
    let silent = silent();
    let server = Server::having(&Plugin::of("web", ANY), &[], json!({}));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
    let soon = jiff::Timestamp::from_second(soon.as_second()).unwrap();
    let grant = format!("http=http://{}", silent.address);
    server.cli().ok(&["plugin", "grant", "web", &grant, "--expires", &soon.to_string()]);
    let id = server.begin("tools/call", json!({"name": "web_send", "arguments": {"url": silent.url("/")}}));
    let (code, message) = failure(&server.answer(id));
    let late = jiff::Timestamp::now().duration_since(soon);
    assert_eq!(code, "GRANT_EXPIRED", "{message}");
    assert!(late >= jiff::SignedDuration::ZERO && late < jiff::SignedDuration::from_millis(500), "{late:?}");
    server.call("web_send", json!({"url": silent.url("/")})).fails("CAPABILITY_REFUSED");
    // What has passed cannot be granted.
    server.cli().fails(&["plugin", "grant", "web", &grant, "--expires", "2001-01-01T00:00:00Z"], 2);
}

#[test]
fn a_file_that_is_not_understood_grants_nothing() {
    let friend = Web::saying("hello");
    let server = Server::having(&Plugin::of("web", ANY), &[&format!("http=http://{}", friend.address)], json!({}));
    let call = || server.call("web_send", json!({"url": friend.url("/")}));
    call().value();
    let file = server.data().join("grants.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    for bad in [
        format!("{text}trusted = true\n"),
        text.replace("\"http\"", "\"everything\""),
        text.replace("port", "prot"),
        "half a [[gra".into(),
    ] {
        std::fs::write(&file, &bad).unwrap();
        call().fails("GRANTS_UNREADABLE");
        // A tool that needs no grant does not care.
        server.call("web_ok", json!({})).value();
    }
    std::fs::write(&file, &text).unwrap();
    call().value();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    call().fails("UNSAFE_DATA_DIR");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    call().value();
}

#[test]
fn a_grant_is_bound_to_the_component() {
    let friend = Web::saying("hello");
    let server = Server::having(&Plugin::of("web", ANY), &[&format!("http=http://{}", friend.address)], json!({}));
    let file = server.data().join("grants.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let listed: Value = serde_json::from_str(&server.cli().ok(&["plugin", "list", "--json"])).unwrap();
    let web = listed.as_array().unwrap().iter().find(|plugin| plugin["name"] == "web").unwrap();
    let digest = web["digest"].as_str().unwrap();
    assert!(text.contains(digest) && digest.len() == 64);
    assert_eq!(web["granted"], json!([format!("http={}", friend.address)]));
    std::fs::write(&file, text.replace(digest, &"0".repeat(64))).unwrap();
    server.call("web_send", json!({"url": friend.url("/")})).fails("CAPABILITY_REFUSED");
}

#[test]
fn more_than_the_workspace_has_to_be_named() {
    let data = tempfile::tempdir().unwrap();
    let plugin = Plugin::of("web", "[[http]]\nhost = \"api.example.com\"\nwhy = \"Weather.\"\n");
    let path = plugin.path().to_str().unwrap();
    let refused = Zipfs(data.path()).fails(&["plugin", "add", path, "--yes"], 5);
    assert!(refused.contains("GRANT_NEEDED") && refused.contains("--grant http=api.example.com"), "{refused}");
    for odd in ["http=other.example.com", "http=api.example.com,DELETE", "sessions", "everything", "directory=docs:/tmp"] {
        Zipfs(data.path()).fails(&["plugin", "add", path, "--yes", "--grant", odd], 1);
    }
    let added = Zipfs(data.path()).ok(&["plugin", "add", path, "--grant", "http=api.example.com", "--expires", "30d"]);
    assert!(added.contains("GET, HEAD to https://api.example.com") && added.contains("Weather."), "{added}");
    let text = std::fs::read_to_string(data.path().join("grants.toml")).unwrap();
    assert!(text.contains("kind = \"http\"") && text.contains("port = 443") && text.contains("expires = "), "{text}");
    assert_eq!(std::fs::metadata(data.path().join("grants.toml")).unwrap().permissions().mode() & 0o777, 0o600);
    Zipfs(data.path()).fails(&["plugin", "revoke", "web", "directory"], 1);
    Zipfs(data.path()).fails(&["plugin", "grant", "nobody", "http"], 1);
    Zipfs(data.path()).ok(&["plugin", "revoke", "web"]);
}

#[test]
fn no_tool_can_change_a_grant() {
    let server = Server::start();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].to_string();
    for word in ["grant", "revoke", "plugin"] {
        let named = listed.contains(&format!("\"name\":\"zipfs_{word}"));
        assert!(!named, "there is a tool for {word}");
    }
    // Nor can a guest reach the file: no directory that holds it can be granted.
    let data = server.data().to_str().unwrap().to_owned();
    let plugin = Plugin::of(
        "places",
        "[workspace]\naccess = \"write\"\n[[directory]]\nname = \"docs\"\nguest = \"/docs\"\naccess = \"write\"\n",
    );
    plugin.add(server.data(), &[]);
    for place in [data.clone(), format!("{data}/plugins"), "/".to_owned()] {
        let refused = server.cli().run(&["plugin", "grant", "places", &format!("directory=docs:{place}")]);
        assert!(!refused.status.success(), "{place}");
    }
}

#[test]
fn limits_are_raised_where_granted() {
    let tables = "[limits]\nmemory_bytes = 268435456\ndeadline_ms = 5000\nwhy = \"Tests.\"\n";
    let server = Server::having(&Plugin::of("appetite", tables), &[], json!({"calls": {"deadline_ms": 500}}));
    let memory = || server.call("appetite_memory", json!({"amount": 100}));
    let time = || server.call("appetite_time", json!({"amount": 1000}));
    memory().fails("LIMIT_EXCEEDED");
    time().fails("TIMEOUT");
    server.grant("appetite", "limits");
    memory().value();
    time().value();
    server.call("appetite_memory", json!({"amount": 300})).fails("LIMIT_EXCEEDED");
    server.revoke("appetite", &["limits"]);
    memory().fails("LIMIT_EXCEEDED");
    time().fails("TIMEOUT");
}
