//! Hash-checked edits in a granted directory, through a server that was started without knowing the plugin.

use serde_json::{Value, json};

use super::{Rooted, add};
use crate::support::{Server, Zipfs};

fn schema_of(server: &Server, tool: &str) -> Value {
    let listed = server.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    tools.into_iter().find(|one| one["name"] == tool).unwrap_or_else(|| panic!("no tool {tool}"))
}

#[test]
fn mcp_001_003_004_tools_and_resources_are_offered_in_two_namespaces() {
    let rooted = Rooted::new("rootspace");
    let listed = rooted.server.request("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in ["file_create", "file_remove", "text_read", "text_replace", "text_insert", "text_append", "text_patch"] {
        assert!(names.contains(&name), "{name}: {names:?}");
        let documented = name.replacen('_', ".", 1);
        assert_eq!(rooted.call(&documented, json!({})).failure().0, "INVALID_PARAMS", "the documented name works too");
    }
    let templates = rooted.server.request("resources/templates/list", json!({}));
    let template = &templates["result"]["resourceTemplates"][0];
    assert_eq!((&template["uriTemplate"], &template["name"]), (&json!("list://{path}"), &json!("list")));
    assert_eq!(template["mimeType"], "application/json");
}

#[test]
fn a_granted_directory_takes_the_place_of_the_session() {
    let rooted = Rooted::with("rootspace", &[("notes/a.md", "one\ntwo\n")]);
    assert!(schema_of(&rooted.server, "text_read")["inputSchema"]["properties"].get("session").is_none());
    let read = rooted.call("text.read", json!({"path": "/notes/a.md"})).value();
    assert_eq!(read, json!({"content": "one\ntwo\n", "hash": rooted.hash("notes/a.md"), "total_lines": 2}));
    let message = rooted.call("text.read", json!({"path": "/notes/a.md", "session": "x"})).fails("INVALID_PARAMS");
    assert!(message.contains("session"), "{message}");
    assert!(schema_of(&rooted.server, "text_read")["annotations"]["readOnlyHint"] == json!(true));
}

#[test]
fn mcp_033_each_hash_that_is_returned_is_that_of_the_bytes_on_disk() {
    let rooted = Rooted::new("rootspace");
    let mut hash = rooted.call("file.create", json!({"path": "/deep/er/a.md", "content": "one\n"})).value()["hash"].clone();
    let steps = [
        ("text.append", json!({"content": "two\nthree"})),
        ("text.insert", json!({"line": -1, "anchor": "three", "content": "two and a half"})),
        ("text.replace", json!({"lines": [1, 0], "old": "one\ntwo", "new": "1\n2"})),
        ("text.patch", json!({"patch": "@@ -3,2 +3 @@\n-two and a half\n-three\n\\ No newline at end of file\n+3\n"})),
        ("text.append", json!({"content": "ü\u{0}\r\n"})),
    ];
    for (tool, mut arguments) in steps {
        assert_eq!(hash, rooted.hash("deep/er/a.md"));
        let stale = hash.clone();
        (arguments["path"], arguments["hash"]) = (json!("/deep/er/a.md"), hash);
        hash = rooted.call(tool, arguments.clone()).value()["hash"].clone();
        let message = rooted.call(tool, arguments).fails("STALE_HASH");
        assert!(!message.contains(hash.as_str().unwrap()) && message.contains("text.read"), "{message}");
        assert_ne!(hash, stale);
    }
    assert_eq!(rooted.read("deep/er/a.md"), "1\n2\n3\nü\u{0}\r\n");
    rooted.call("file.remove", json!({"path": "deep/er/a.md", "hash": hash})).is(json!({}));
    assert!(!rooted.root.path().join("deep/er/a.md").exists());
    assert_eq!(left_over(&rooted), [] as [String; 0]);
}

/// Names in the root that no tool made.
fn left_over(rooted: &Rooted) -> Vec<String> {
    let names = |path: &str| std::fs::read_dir(rooted.root.path().join(path)).unwrap().map(|entry| entry.unwrap().file_name());
    names("deep/er").chain(names("deep")).filter_map(|name| name.into_string().ok()).filter(|name| name != "er").collect()
}

#[test]
fn mcp_011_a_removal_answers_with_an_empty_object() {
    let rooted = Rooted::with("rootspace", &[("a", "x")]);
    let removed = rooted.call("file.remove", json!({"path": "a", "hash": rooted.hash("a")}));
    assert_eq!(removed.0["result"]["content"][0]["text"], "{}");
}

#[test]
fn mcp_020_021_025_directories_are_listed_by_uri() {
    let rooted = Rooted::with("rootspace", &[("notes/a.md", ""), ("notes/.b", ""), ("notes/sub/x", ""), ("top", "")]);
    let expected = json!({"path": "/notes", "entries": [
        {"type": "directory", "name": "sub"}, {"type": "file", "name": ".b"}, {"type": "file", "name": "a.md"}]});
    for uri in ["list://notes", "list:///notes/", "list://notes/../notes", "list://notes%2F"] {
        let read = rooted.resource(uri);
        let contents = &read["result"]["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")), "{read}");
        assert_eq!(serde_json::from_str::<Value>(contents["text"].as_str().unwrap()).unwrap(), expected);
    }
    assert_eq!(rooted.server.request("resources/list", json!({}))["result"]["resources"][0]["uri"], "list:///");
}

#[test]
fn mcp_027_050_what_is_outside_or_missing_cannot_be_listed() {
    let rooted = Rooted::with("rootspace", &[("top", "")]);
    let missing = &rooted.resource("list://nothing")["error"];
    assert_eq!(missing["code"], -32002, "the code of this revision for a resource that is not there: {missing}");
    for outside in ["list://../", "list://%2e%2e/etc"] {
        let refused = rooted.resource(outside);
        assert!(refused.get("error").is_some(), "{refused}");
        assert!(!refused.to_string().contains("passwd"));
    }
}

#[test]
fn a_directory_is_not_bound_if_it_holds_the_hosts_own() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let file = crate::support::packed_plugin("rootspace");
    let add = |root: &std::path::Path| {
        let root = format!("root={}", root.display());
        let arguments = ["plugin", "add", file.to_str().unwrap(), "--yes", "--grant", "files", "--grant", &root];
        Zipfs(&data).fails(&arguments, 5)
    };
    for unsafe_root in [home.path(), &data, std::path::Path::new("/")] {
        let message = add(unsafe_root);
        assert!(message.contains("holds the data directory of zipfs"), "{message}");
    }
}

#[test]
fn the_variable_of_the_manifest_chooses_the_directory_if_a_person_left_it_open() {
    let (data, home, docs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let call = |variables: &[(&str, &std::path::Path)]| {
        let create = json!({"path": "a.md", "content": "hi"}).to_string();
        let mut command = Zipfs(data.path()).command();
        command.args(["call", "file_create", "--json", &create]);
        for (name, value) in variables {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // Without a grant the variable means nothing: whoever sets it for a program is not asked what it gives away.
    add(data.path(), "rootspace", &[]);
    let (done, message) = call(&[("ROOTSPACE_DATA_DIR", docs.path()), ("HOME", home.path())]);
    assert!(!done && message.contains("NO_SESSIONS"), "{message}");

    Zipfs(data.path()).ok(&["plugin", "grant", "rootspace", "root"]);
    let wanted = docs.path().join("made/here");
    let (done, message) = call(&[("ROOTSPACE_DATA_DIR", &wanted), ("HOME", home.path())]);
    assert!(done, "{message}");
    assert_eq!(std::fs::read_to_string(wanted.join("a.md")).unwrap(), "hi");

    let (done, message) = call(&[("HOME", home.path())]);
    assert!(done, "{message}");
    assert!(home.path().join("rootspace/a.md").exists(), "the default of the manifest");

    let (done, message) = call(&[]);
    assert!(!done && message.contains("ROOT_NOT_SET") && message.contains("ROOTSPACE_DATA_DIR"), "{message}");
    let (done, message) = call(&[("ROOTSPACE_DATA_DIR", data.path())]);
    assert!(!done && message.contains("holds the data directory of zipfs"), "{message}");
}

#[test]
fn a_user_keeps_owner_mode_and_attributes_of_a_file() {
    use std::os::unix::fs::PermissionsExt;
    let rooted = Rooted::with("rootspace", &[("a", "x\n")]);
    let path = rooted.root.path().join("a");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o6750)).unwrap();
    let arguments = json!({"path": "a", "hash": rooted.hash("a"), "content": "y\n"});
    rooted.call("text.append", arguments).value();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o750, "but no program runs with more rights by what a guest wrote");
}

#[test]
fn a_root_that_is_granted_for_reading_is_not_written() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "x").unwrap();
    let server = super::serve_root("fs", root.path());
    let listed = server.call("fs.listDirectory", json!({})).value();
    assert_eq!(listed["files"][0]["name"], "a");
    let read = server.call("fs.readFile", json!({"path": "/a"}));
    assert_eq!(read.0["result"]["content"], json!([{"type": "text", "text": "x"}]));
    assert_eq!(schema_of(&server, "fs_readFile")["annotations"]["readOnlyHint"], true);
    server.call("fs.readFile", json!({"path": "/../a"})).fails("ValueError");
}
