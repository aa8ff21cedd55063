//! What roles, policy and scopes let somebody do.

use serde_json::json;

use crate::support::{Archive, Audited, Service, zip};

#[test]
fn a_viewer_looks_and_is_told_what_it_would_need() {
    let (service, [viewer, operator]) =
        Service::with(json!({}), [("viewer", &["--role", "viewer"]), ("operator", &["--role", "operator"])]);
    let (viewer, operator) = (service.agent(&viewer), service.agent(&operator));
    let seen = viewer.tools();
    assert!(seen.contains(&"zipfs_read".to_owned()) && !seen.contains(&"zipfs_write".to_owned()), "{seen:?}");
    assert!(operator.tools().contains(&"zipfs_write".to_owned()));
    let refused = viewer.ask("tools/call", json!({"name": "zipfs_write", "arguments": {"path": "a", "content": "b"}}));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.header("www-authenticate").unwrap().contains("error=\"insufficient_scope\""));
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("Tool 'zipfs_write' requires role 'operator'. Principal 'viewer' has role 'viewer'."), "{message}");
    let audited = Audited::of(service.data()).lines();
    let line = audited.iter().find(|line| line["outcome"] == "PERMISSION_DENIED").unwrap_or_else(|| panic!("{audited:?}"));
    assert_eq!((line["principal"].clone(), line["tool_name"].clone()), (json!("token:viewer"), json!("zipfs_write")));
    assert_eq!(viewer.upload("", &zip(&[("a", "a")])).status, 403, "nor by the other way");
    // In a transport session of the older revisions it is the same.
    let session = viewer.handshake();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "zipfs_prune", "arguments": {}}});
    assert_eq!(viewer.legacy(&session, call).status, 403);
}

#[test]
fn policy_raises_lowers_and_hides() {
    let policy = json!([
        {"tools": ["zipfs_delete"], "principals": ["token:ci"], "hide": true},
        {"tools": ["zipfs_sync"], "require": "admin"},
        {"tools": ["zipfs_write"], "roles": ["viewer"], "require": "viewer"},
    ]);
    let (service, [ci, viewer]) = Service::with(json!({"policy": policy}), [("ci", &[]), ("viewer", &["--role", "viewer"])]);
    let (ci, viewer) = (service.agent(&ci), service.agent(&viewer));
    let seen = ci.tools();
    assert!(!seen.contains(&"zipfs_delete".to_owned()) && !seen.contains(&"zipfs_sync".to_owned()), "{seen:?}");
    assert!(viewer.tools().contains(&"zipfs_write".to_owned()));
    let hidden = ci.ask("tools/call", json!({"name": "zipfs_delete", "arguments": {"path": "a"}})).json();
    let unknown = ci.ask("tools/call", json!({"name": "zipfs_nothing", "arguments": {"path": "a"}})).json();
    assert_eq!(hidden["error"]["code"], unknown["error"]["code"]);
    assert_eq!(hidden["error"]["message"].as_str().unwrap().replace("zipfs_delete", "zipfs_nothing"), unknown["error"]["message"]);
    assert_eq!(ci.ask("tools/call", json!({"name": "zipfs_sync", "arguments": {}})).status, 403);
}

#[test]
fn scopes_do_not_reach_the_neighbours() {
    let archive = Archive::of(&[
        ("notes/a.md", "in scope"),
        ("notes-evil/a.md", "not"),
        ("inbox/x.md", "x"),
        ("inbox/deep/y.md", "y"),
        ("top.md", "t"),
    ]);
    let root = format!("in={}", archive.dir().display());
    let (service, [open, scoped]) = Service::with(
        json!({}),
        [("ada", &["--open-root", &root]), ("bob", &["--open-root", &root, "--scope", "read:/notes/ write:/inbox/*"])],
    );
    drop(open);
    let bob = service.agent(&scoped);
    bob.call("zipfs_open", json!({"path": "/in/sample.zip"})).value();
    let status = |tool: &str, arguments: serde_json::Value| bob.ask("tools/call", json!({"name": tool, "arguments": arguments}));
    for path in ["notes/a.md", "/notes/a.md", "notes//a.md", "inbox/x.md"] {
        assert_eq!(status("zipfs_read", json!({"path": path})).status, 200, "{path}");
    }
    for path in ["notes-evil/a.md", "top.md", "notes/../top.md", "inbox/deep/y.md", "/", "../notes/a.md"] {
        let refused = status("zipfs_read", json!({"path": path}));
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
    }
    let refused = status("zipfs_read", json!({"path": "/notes-evil/a.md"}));
    assert!(refused.header("www-authenticate").unwrap().contains("scope=\"read:/notes-evil/\""), "{refused:?}");
    assert!(Audited::of(service.data()).calls().contains(&("zipfs_read".into(), "INSUFFICIENT_SCOPE".into())));
    // What works on everything below needs everything below.
    for (tool, arguments, expected) in [
        ("zipfs_grep", json!({"pattern": "x"}), 403),
        ("zipfs_grep", json!({"pattern": "scope", "path": "notes"}), 200),
        ("zipfs_grep", json!({"pattern": "x", "path": "inbox"}), 403),
        ("zipfs_ls", json!({}), 403),
        ("zipfs_ls", json!({"path": "notes"}), 200),
        ("zipfs_status", json!({}), 403),
        ("zipfs_sync", json!({}), 403),
        ("zipfs_write", json!({"path": "inbox/new.md", "content": "n"}), 200),
        ("zipfs_write", json!({"path": "inbox/deep/new.md", "content": "n"}), 403),
        ("zipfs_write", json!({"path": "notes/a.md", "content": "n"}), 403),
        ("zipfs_delete", json!({"path": "inbox", "recursive": true}), 403),
    ] {
        let reply = status(tool, arguments.clone());
        assert_eq!(reply.status, expected, "{tool} {arguments}: {reply:?}");
    }
    let session = bob.call("zipfs_sessions", json!({})).value()["sessions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(bob.download(&session).status, 403, "the whole archive is more than the scopes");
}

#[test]
fn a_minted_token_is_worth_its_scopes() {
    let data = Service::prepare(json!({}));
    let mint = |arguments: &[&str]| {
        crate::support::Zipfs(data.path()).ok(&[&["token", "mint", "--quiet"], arguments].concat()).trim().to_owned()
    };
    let (reads, writes, nothing, admin) = (
        mint(&["--scope", "read:/"]),
        mint(&["--scope", "write:/notes/"]),
        mint(&[]),
        mint(&["--scope", "write:/", "--role", "admin"]),
    );
    let service = Service::on(data.clone(), &[]);
    let has = |token: &str, tool: &str| service.agent(token).tools().contains(&tool.to_owned());
    assert!(has(&reads, "zipfs_read") && !has(&reads, "zipfs_write"));
    assert!(has(&writes, "zipfs_write") && has(&admin, "zipfs_write"));
    let refused = service.agent(&nothing).ask("tools/call", json!({"name": "zipfs_read", "arguments": {"path": "a"}}));
    assert_eq!(refused.status, 403, "without a scope nothing is in scope");
    assert_eq!(crate::support::Zipfs(data.path()).run(&["token", "mint", "--scope", "write:notes"]).status.code(), Some(2));
}
