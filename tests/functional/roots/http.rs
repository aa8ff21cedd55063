//! Text editing by hashes over HTTP, served alone under its own name. Tests are named by the requirements of that system.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::web::{Web, started};
use super::{add, hash_of};
use crate::support::{Zipfs, skipped};

const FILES: [(&str, &str); 6] = [
    ("work/a.md", "a\n"),
    ("work/sub/b.md", "b\n"),
    ("workfiles/a.md", "x\n"),
    ("notes/a.md", "n\n"),
    ("Work/a.md", "W\n"),
    ("top.md", "t\n"),
];

fn web() -> Web {
    Web::serve("rootspace", "ROOTSPACE_DATA_DIR", &FILES)
}

fn read(web: &Web, scopes: &str, path: &str) -> u16 {
    web.status(scopes, "text.read", json!({"path": path}))
}

fn create(web: &Web, scopes: &str, path: &str) -> u16 {
    web.status(scopes, "file.create", json!({"path": path, "content": ""}))
}

#[test]
fn mcp_002_005_a_session_begins_with_a_uuid_and_unknown_ones_are_not_found() {
    let web = web();
    let token = web.token("read:/");
    let (session, hello) = web.initialize(&token);
    let id = uuid::Uuid::parse_str(&session).expect("a UUID");
    assert_eq!(id.get_version_num(), 4);
    assert_eq!(hello["result"]["serverInfo"]["name"], "rootspace");
    assert_eq!(hello["result"]["serverInfo"]["version"], "0.1.0");
    for capability in ["tools", "resources"] {
        assert!(hello["result"]["capabilities"].get(capability).is_some(), "{hello}");
    }
    let bearer = format!("Bearer {token}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let with = |session: &str| web.post("/mcp", &[("authorization", &bearer), ("mcp-session-id", session)], &list);
    let listed = with(&session).json();
    let names: Vec<&str> = listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(["file.create", "text.read", "text.patch"].iter().all(|name| names.contains(name)), "documented names: {names:?}");
    assert!(!names.iter().any(|name| name.starts_with("zipfs")), "one plugin alone");
    assert_eq!(with(&uuid::Uuid::new_v4().to_string()).status, 404);
    assert_eq!(web.post("/mcp", &[("authorization", &bearer)], &list).status, 400, "no session and no initialize");
    let (second, _) = web.initialize(&token);
    assert_ne!(second, session);
}

#[test]
fn mcp_001_a_whole_edit_over_http() {
    let web = web();
    let call = |tool: &str, arguments: Value| {
        let answer = web.mcp("write:/", "tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    };
    let made = call("file.create", json!({"path": "/new/a.md", "content": "one\n"}));
    let hash = made["structuredContent"]["hash"].clone();
    let edited = call("text.append", json!({"path": "/new/a.md", "hash": hash, "content": "two\n"}));
    assert_eq!(edited["structuredContent"]["hash"], hash_of(&web.root.path().join("new/a.md")));
    let stale = call("text.append", json!({"path": "/new/a.md", "hash": hash, "content": "two\n"}));
    assert_eq!((&stale["isError"], &stale["structuredContent"]["error"]["code"]), (&json!(true), &json!("STALE_HASH")));
    let listing = web.mcp("read:/new/", "resources/read", json!({"uri": "list:///new/"})).json();
    assert!(listing["result"]["contents"][0]["text"].as_str().unwrap().contains("a.md"), "{listing}");
}

#[test]
fn health_is_answered_to_anybody_and_other_paths_are_not_found() {
    let web = web();
    let health = web.get("/health", &[]);
    assert_eq!((health.status, health.json()), (200, json!({"status": "ok", "version": "0.1.0"})));
    let bearer = format!("Bearer {}", web.token("read:/"));
    assert_eq!(web.get("/other", &[("authorization", &bearer)]).status, 404);
}

#[test]
fn auth_001_002_without_a_good_token_nothing_is_said() {
    let web = web();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let good = web.token("read:/");
    let (head, rest) = good.split_once('.').expect("a JWT");
    let unsigned = format!("{}.{}.", "eyJhbGciOiJub25lIn0", rest.split('.').next().unwrap());
    let tampered = format!("{head}.{}A", &rest[..rest.len() - 1]);
    for token in ["", "nonsense", &unsigned, &tampered] {
        let bearer = format!("Bearer {token}");
        let answer = web.post("/mcp", &[("authorization", &bearer)], &list);
        assert_eq!(answer.status, 401, "{token:?}");
        assert!(answer.header("www-authenticate").is_some_and(|said| said.starts_with("Bearer")));
    }
    assert_eq!(web.post("/mcp", &[], &list).status, 401);
}

#[test]
fn auth_020_read_of_everything() {
    let web = web();
    for path in ["/top.md", "/work/sub/b.md"] {
        assert_eq!(read(&web, "read:/", path), 200, "{path}");
    }
    assert_eq!(web.listing("read:/", "list:///"), 200);
    assert_eq!(create(&web, "read:/", "/new"), 403);
}

#[test]
fn auth_021_read_of_a_folder() {
    let web = web();
    assert_eq!(read(&web, "read:/work/", "/work/a.md"), 200);
    assert_eq!(read(&web, "read:/work/", "/notes/a.md"), 403);
    assert_eq!(create(&web, "read:/work/", "/work/new"), 403);
}

#[test]
fn auth_022_write_of_a_folder() {
    let web = web();
    assert_eq!(create(&web, "write:/notes/", "/notes/deep/new.md"), 200);
    assert_eq!(create(&web, "write:/notes/", "/work/new.md"), 403);
}

#[test]
fn auth_023_write_of_everything() {
    let web = web();
    for path in ["/new.md", "/work/new.md"] {
        assert_eq!(create(&web, "write:/", path), 200, "{path}");
    }
}

#[test]
fn auth_030_mcp_051_nothing_is_allowed_by_default_and_a_refusal_is_403_with_the_scope_that_is_missing() {
    let web = web();
    for scopes in ["", "read:/other/"] {
        assert_eq!(read(&web, scopes, "/work/a.md"), 403, "{scopes:?}");
        assert_eq!(web.listing(scopes, "list:///work/"), 403, "{scopes:?}");
    }
    let refused =
        web.mcp("read:/", "tools/call", json!({"name": "file.create", "arguments": {"path": "/notes/b.md", "content": ""}}));
    assert_eq!(refused.status, 403);
    let said = refused.header("www-authenticate").expect("a challenge");
    assert!(said.contains("error=\"insufficient_scope\"") && said.contains("scope=\"write:/notes/\""), "{said}");
    let body = refused.json();
    assert!(body.get("error").is_some() && body["id"] == json!(1), "{body}");
    assert!(!web.root.path().join("notes/b.md").exists());
}

#[test]
fn auth_031_every_change_requires_write() {
    let web = web();
    let hash = hash_of(&web.root.path().join("work/a.md"));
    let calls = [
        ("file.create", json!({"path": "/work/new", "content": ""})),
        ("text.append", json!({"path": "/work/a.md", "hash": hash, "content": "x"})),
        ("text.replace", json!({"path": "/work/a.md", "hash": hash, "lines": [1, 0], "old": "a", "new": "b"})),
        ("text.insert", json!({"path": "/work/a.md", "hash": hash, "line": 1, "anchor": "a", "content": "b"})),
        ("text.patch", json!({"path": "/work/a.md", "hash": hash, "patch": "@@ -1 +1 @@\n-a\n+b\n"})),
        ("file.remove", json!({"path": "/work/a.md", "hash": hash})),
    ];
    for (tool, arguments) in &calls {
        assert_eq!(web.status("read:/", tool, arguments.clone()), 403, "{tool}");
    }
    assert_eq!(hash_of(&web.root.path().join("work/a.md")), hash);
    for (tool, arguments) in calls {
        assert_eq!(web.status("write:/work/", tool, arguments), 200, "{tool}: allowed, whatever else is wrong with it");
    }
}

#[test]
fn auth_032_033_reading_and_listing_require_read_or_write() {
    let web = web();
    for scopes in ["read:/work/", "write:/work/"] {
        assert_eq!(read(&web, scopes, "/work/a.md"), 200, "{scopes}");
        assert_eq!(web.listing(scopes, "list://work/"), 200, "{scopes}");
    }
    assert_eq!(read(&web, "read:/notes/", "/work/a.md"), 403);
    assert_eq!(web.listing("read:/notes/", "list://work/"), 403);
}

#[test]
fn auth_034_a_prefix_is_of_components_and_of_the_normalised_path() {
    let web = web();
    assert_eq!(read(&web, "read:/work/", "/workfiles/a.md"), 403);
    assert_eq!(read(&web, "read:/work/", "/notes/../work/a.md"), 200);
    assert_eq!(read(&web, "read:/work/", "//work//./a.md"), 200);
    assert_eq!(read(&web, "read:/notes/", "/notes/../work/a.md"), 403);
    assert_eq!(web.listing("read:/notes/", "list://notes/../work/"), 403);
    assert_eq!(web.listing("read:/notes/", "list://notes/%2e%2e/work/"), 403);
    assert_eq!(web.listing("read:/notes/", "list://notes%2F"), 200, "clients escape the slashes of a template's variable");
    std::os::unix::fs::symlink("../work", web.root.path().join("notes/link")).unwrap();
    // A link leads to where it leads. That is only known once the call has begun, so HTTP has no word for it any more.
    let read = web.mcp("read:/notes/", "tools/call", json!({"name": "text.read", "arguments": {"path": "/notes/link/a.md"}}));
    assert!(read.body.contains("INSUFFICIENT_SCOPE"), "{read:?}");
    let listed = web.mcp("read:/notes/", "resources/read", json!({"uri": "list://notes/link"}));
    assert!(listed.body.contains("INSUFFICIENT_SCOPE") && listed.json().get("error").is_some(), "{listed:?}");
}

#[test]
fn auth_035_a_star_is_one_level() {
    let web = web();
    assert_eq!(read(&web, "read:/work/*", "/work/a.md"), 200);
    assert_eq!(read(&web, "read:/work/*", "/work/sub/b.md"), 403);
    assert_eq!(web.listing("read:/work/*", "list://work"), 200);
}

#[test]
fn auth_036_a_slash_is_everything_below() {
    let web = web();
    for path in ["/work/a.md", "/work/sub/b.md"] {
        assert_eq!(read(&web, "read:/work/", path), 200, "{path}");
    }
}

#[test]
fn auth_037_a_directory_without_a_slash_is_everything_below() {
    let web = web();
    assert_eq!(read(&web, "read:/work", "/work/sub/b.md"), 200);
    assert_eq!(read(&web, "read:/top.md", "/top.md"), 200);
    assert_eq!(read(&web, "read:/work", "/workfiles/a.md"), 403);
}

#[test]
fn auth_038_case_counts() {
    let web = web();
    assert_eq!(read(&web, "read:/Work/", "/work/a.md"), 403);
    assert_eq!(read(&web, "read:/work/", "/Work/a.md"), 403);
    assert_eq!(read(&web, "read:/Work/", "/Work/a.md"), 200);
}

#[test]
fn auth_039_write_includes_read() {
    let web = web();
    assert_eq!(read(&web, "write:/notes/", "/notes/a.md"), 200);
    assert_eq!(web.listing("write:/notes/", "list://notes/"), 200);
    assert_eq!(read(&web, "write:/notes/", "/work/a.md"), 403);
}

#[test]
fn the_key_that_signs_is_never_in_what_is_served() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join(".secrets");
    std::fs::create_dir(&data).unwrap();
    add(&data, "rootspace", &["--grant", "root"]);
    Zipfs(&data).ok(&["token", "mint"]);
    let create = json!({"path": "a", "content": ""}).to_string();
    for root in [home.path(), &data] {
        let output = Zipfs(&data)
            .command()
            .args(["call", "file_create", "--json", &create])
            .env("ROOTSPACE_DATA_DIR", root)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains("holds the data directory of zipfs"), "{message}");
    }
}

#[test]
fn a_server_that_is_told_to_stop_ends_in_good_order() {
    let mut web = web();
    let began = Instant::now();
    rustix::process::kill_process(rustix::process::Pid::from_raw(web.pid() as i32).unwrap(), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(web.wait().code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_port_it_is_known_by_is_the_default() {
    let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if std::net::TcpListener::bind("127.0.0.1:9999").is_err() {
        return skipped("port 9999 is in use, so nothing shows that it is the default");
    }
    add(data.path(), "rootspace", &["--grant", "root"]);
    let wanted = root.path().join("made/at/start");
    let mut command = Zipfs(data.path()).command();
    command.args(["serve", "--only", "rootspace", "--allow-local"]).env("ROOTSPACE_DATA_DIR", &wanted);
    let (mut child, address) = started(command);
    let made = wanted.is_dir();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(address, "127.0.0.1:9999");
    assert!(made, "the directory is made at the start");
}
