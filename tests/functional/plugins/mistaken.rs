//! People hand over all sorts of things in the place of a component. Each is told apart, and the next step is said.

use std::path::Path;

use super::error;
use crate::support::{Zipfs, guest, zip};

/// What `plugin add` says: what it is, and what to do.
#[track_caller]
fn refused(data: &Path, name: &str, bytes: &[u8]) -> String {
    let path = data.join(name);
    std::fs::write(&path, bytes).unwrap();
    let output = Zipfs(data).run(&["--json", "plugin", "add", "--yes", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
    let said = error(&output);
    assert_eq!(said["code"], "PLUGIN_INVALID", "{name}: {said}");
    said["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn each_is_told_apart_and_the_next_step_is_said() {
    let data = tempfile::tempdir().unwrap();
    let real = std::fs::read(guest("noop")).unwrap();
    let module = wat::parse_str("(module (func (export \"f\")))").unwrap();
    let archive = zip(&[("noop.wasm", "not really")]);
    let manifest = "name = \"words\"\nversion = \"0.1.0\"\n";
    for (name, bytes, why, next) in [
        ("empty.wasm", &b""[..], "is empty", "again"),
        ("text.wasm", b"hello", "it is a text", ".wasm file"),
        ("plugin.toml", manifest.as_bytes(), "it is a plugin.toml", "the directory"),
        ("words.wat", b"(component)", "text form", "wasm-tools parse"),
        ("page.wasm", b"<!DOCTYPE html><html></html>", "web page", "address of the file itself"),
        ("module.wasm", &module, "core module", "wasm32-wasip2"),
        ("packed.wasm", &archive, "zip archive", "Unpack it"),
        ("header.wasm", &real[..6], "end is missing", "again"),
        ("cut.wasm", &real[..real.len() / 2], "end is missing", "again"),
        ("shortened.wasm", &real[..real.len() - 1], "end is missing", "again"),
    ] {
        let message = refused(data.path(), name, bytes);
        assert!(message.contains(why) && message.contains(next), "{name}: {message}");
    }
    // What only looks like one is not run either.
    let mut broken = real.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 64].fill(0xff);
    let path = data.path().join("broken.wasm");
    std::fs::write(&path, broken).unwrap();
    let output = Zipfs(data.path()).run(&["plugin", "add", "--yes", path.to_str().unwrap()]);
    assert!(!output.status.success(), "{output:?}");
    assert!(!Zipfs(data.path()).ok(&["plugin", "list"]).contains("noop"));
}

#[test]
fn directories_without_a_plugin_say_what_is_missing() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let said = Zipfs(data.path()).fails(&["plugin", "add", "--yes", folder.to_str().unwrap()], 1);
    assert!(said.contains("plugin.toml"), "{said}");
    std::fs::write(folder.join("plugin.toml"), "name = \"words\"\nversion = \"0.1.0\"\n").unwrap();
    let said = Zipfs(data.path()).fails(&["plugin", "add", "--yes", folder.to_str().unwrap()], 1);
    assert!(said.contains(".wasm") || said.contains("component"), "{said}");
}
