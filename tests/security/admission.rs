//! What is refused before it runs.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Server, Zipfs, guest};

/// Adds a guest that must be refused; returns what was said.
fn refused(name: &str) -> String {
    let data = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let output = Zipfs(data.path()).run(&["plugin", "add", "--yes", guest(name).to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{name} was added");
    assert!(began.elapsed() < Duration::from_secs(20), "{name}");
    let left = std::fs::read_dir(data.path().join("plugins")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{name} left something behind");
    let code = std::fs::read_dir(data.path().join("cache")).into_iter().flatten().flatten();
    assert!(code.into_iter().all(|entry| entry.path().extension().is_none_or(|end| end != "cwasm")), "{name} left code behind");
    // The host is none the worse.
    assert!(Zipfs(data.path()).ok(&["tools"]).contains("zipfs_read"));
    text
}

#[test]
fn a_component_with_sockets_is_refused_by_its_imports() {
    let text = refused("net");
    assert!(text.contains("wasi:sockets"), "{text}");
}

#[test]
fn spin_in_describe_is_refused() {
    let text = refused("spin-in-describe");
    assert!(text.contains("TIMEOUT"), "{text}");
}

#[test]
fn spin_in_start_is_refused() {
    let text = refused("spin-in-start");
    assert!(text.contains("TIMEOUT"), "{text}");
}

#[test]
fn a_clash_names_both_plugins() {
    let text = refused("imposter-name");
    assert!(text.contains("imposter-name") && text.contains("zipfs") && text.contains("zipfs_read"), "{text}");
}

#[test]
fn imposters_are_refused() {
    for name in ["imposter-text", "imposter-many", "imposter-control", "imposter-schema", "imposter-session"] {
        let text = refused(name);
        assert!(text.len() < 2000 && text.contains("REFUSED") || text.contains("LIMIT"), "{name}: {text}");
    }
}

#[test]
fn what_is_no_component_is_refused() {
    let data = tempfile::tempdir().unwrap();
    for (name, bytes) in [
        ("empty.wasm", &b""[..]),
        ("text.wasm", b"hello"),
        ("module.wasm", b"\0asm\x01\0\0\0"),
        ("component.wasm", b"\0asm\x0d\0\x01\0"),
    ] {
        let path = data.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Zipfs(data.path()).fails(&["plugin", "add", "--yes", path.to_str().unwrap()], 1);
    }
    Zipfs(data.path()).fails(&["plugin", "add", "--yes", "/no/such/file.wasm"], 1);
}

#[test]
fn a_component_that_was_exchanged_is_not_run() {
    let server = Server::start();
    server.add("noop");
    let mut components = std::fs::read_dir(server.data().join("plugins")).unwrap().flatten().map(|entry| entry.path());
    let stored = components.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("noop-")).unwrap();
    std::fs::copy(guest("trap"), &stored).unwrap();
    // What was compiled when the plugin was admitted is bound to its digest and still runs; the other component never does.
    server.call("noop", json!({})).value();
    let cache = server.data().join("cache");
    for entry in std::fs::read_dir(cache)
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "cwasm"))
    {
        std::fs::remove_file(entry.path()).unwrap();
    }
    server.cli().fails(&["call", "noop"], 5);
}

#[test]
fn manifests_bind() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("plugin");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(guest("links"), folder.join("links.wasm")).unwrap();
    let add = |manifest: &str, code: i32| {
        std::fs::write(folder.join("plugin.toml"), manifest).unwrap();
        Zipfs(data.path()).fails(&["plugin", "add", "--yes", folder.to_str().unwrap()], code)
    };
    let asks_less = add("name = \"links\"\nversion = \"0.1.0\"\n[workspace]\naccess = \"read\"\n", 5);
    assert!(asks_less.contains("links"), "{asks_less}");
    add("name = \"other\"\nversion = \"0.1.0\"\n[workspace]\naccess = \"write\"\n", 5);
    add("name = \"links\"\nversion = \"0.1.0\"\nnetwork = true\n[workspace]\naccess = \"write\"\n", 1);
    std::fs::write(folder.join("plugin.toml"), "name = \"links\"\nversion = \"0.1.0\"\n[workspace]\naccess = \"write\"\n").unwrap();
    Zipfs(data.path()).ok(&["plugin", "add", "--yes", folder.to_str().unwrap()]);
    assert!(Zipfs(data.path()).ok(&["plugin", "list"]).contains("links"));
    Zipfs(data.path()).ok(&["plugin", "remove", "links"]);
    Zipfs(data.path()).fails(&["plugin", "remove", "links"], 1);
}
