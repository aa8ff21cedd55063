//! `zipfs plugin test`: cases, hostile arguments, and what is reached for.

use serde_json::{Value, json};

use super::folder;
use crate::support::{Zipfs, guest};

fn report(path: &str, more: &[&str]) -> (bool, Value) {
    let data = tempfile::tempdir().unwrap();
    let output = Zipfs(data.path()).run(&[&["plugin", "test", path, "--json"], more].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}")))
}

const TYPED: &str =
    "name = \"typed\"\nversion = \"0.2.0\"\ndescription = \"Of all kinds.\"\n[workspace]\naccess = \"write\"\nwhy = \"Notes.\"\n";

#[test]
fn cases_hold_what_a_tool_answers_and_leaves_behind() {
    let (_place, path) = folder("typed", TYPED);
    let case = path.join("cases/notes_write/new");
    std::fs::create_dir_all(case.join("before/sub")).unwrap();
    std::fs::write(case.join("before/sub/old.txt"), "old").unwrap();
    std::fs::write(case.join("arguments.json"), r#"{"path": "new.txt", "text": "hello"}"#).unwrap();
    let failing = path.join("cases/notes_read/missing");
    std::fs::create_dir_all(&failing).unwrap();
    std::fs::write(failing.join("arguments.json"), r#"{"path": "missing.txt"}"#).unwrap();

    report(path.to_str().unwrap(), &["--update"]);
    let expected =
        |case: &std::path::Path| -> Value { serde_json::from_slice(&std::fs::read(case.join("expected.json")).unwrap()).unwrap() };
    assert_eq!(expected(&case), json!({"structured": {"result": 5}}));
    assert_eq!(std::fs::read_to_string(case.join("after/new.txt")).unwrap(), "hello");
    assert_eq!(std::fs::read_to_string(case.join("after/sub/old.txt")).unwrap(), "old");
    assert_eq!(expected(&failing), json!({"error": {"code": "NOT_FOUND", "message": "read failed: not-found."}}));
    assert!(!failing.join("after").exists(), "nothing changed");

    let results = |report: &Value| -> Vec<String> {
        report["cases"].as_array().unwrap().iter().map(|case| case["result"].as_str().unwrap().to_owned()).collect()
    };
    let (_, again) = report(path.to_str().unwrap(), &[]);
    assert_eq!(results(&again), ["ok", "ok"], "{again}");
    // Each kind of difference is one.
    std::fs::write(case.join("after/new.txt"), "other").unwrap();
    std::fs::write(failing.join("expected.json"), "{\"structured\": {}}").unwrap();
    let (passed, broken) = report(path.to_str().unwrap(), &[]);
    assert!(!passed);
    assert_eq!(results(&broken), ["FAILED", "FAILED"]);
    assert!(broken["cases"][1]["differences"][0].as_str().unwrap().contains("new.txt holds \"hello\""), "{broken}");
    std::fs::remove_file(case.join("after/new.txt")).unwrap();
    let (_, broken) = report(path.to_str().unwrap(), &[]);
    assert_eq!(broken["cases"][1]["differences"][0], "new.txt is there afterwards");
    // A case for a tool that is not there is a mistake, not a pass.
    std::fs::rename(path.join("cases/notes_read"), path.join("cases/notes_raed")).unwrap();
    let data = tempfile::tempdir().unwrap();
    let said = Zipfs(data.path()).fails(&["plugin", "test", path.to_str().unwrap()], 1);
    assert!(said.contains("notes_raed") && said.contains("notes_read"), "{said}");
}

#[test]
fn a_tool_that_breaks_down_is_found() {
    let (passed, report) = report(guest("trap").to_str().unwrap(), &[]);
    assert!(!passed);
    let broken = report["hostile"]["broken"].as_array().unwrap();
    assert_eq!(broken.len(), 1, "{report}");
    assert_eq!(broken[0]["tool"], "trap");
    assert!(broken[0]["message"].as_str().unwrap().contains("panics on purpose"));
    assert!(report["hostile"]["calls"].as_u64().unwrap() <= 800);
}

#[test]
fn a_tool_that_answers_what_it_did_not_promise_is_found() {
    let (passed, report) = report(guest("wrong-schema").to_str().unwrap(), &[]);
    assert!(!passed);
    assert!(report["hostile"]["broken"][0]["message"].as_str().unwrap().contains("answered wrongly"), "{report}");
}

#[test]
fn attempts_are_listed_and_the_smallest_manifest_is_proposed() {
    let (_place, path) = folder(
        "undeclared-files",
        "name = \"undeclared-files\"\nversion = \"0.1.0\"\ndescription = \"Tries.\"\n[workspace]\naccess = \"write\"\n[capabilities]\nfiles = \"x\"\n",
    );
    let (_, report) = report(path.to_str().unwrap(), &[]);
    let tools = report["needs"]["tools"].as_array().unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool["tool"] == name).unwrap();
    assert_eq!(of("undeclared_files")["tried"], json!(["files"]), "{report}");
    assert_eq!(of("undeclared_files_ok")["tried"], json!([]));
    assert_eq!(of("undeclared_files")["declared"], "write");
    let data = tempfile::tempdir().unwrap();
    let proposed = Zipfs(data.path()).ok(&["plugin", "test", path.to_str().unwrap(), "--propose"]);
    assert!(proposed.contains("[capabilities]\nfiles = \"\""), "{proposed}");
    // One that only computes is proposed nothing.
    let proposed = Zipfs(data.path()).ok(&["plugin", "test", guest("noop").to_str().unwrap(), "--propose"]);
    assert!(proposed.contains("access = \"none\"") && !proposed.contains("[capabilities]"), "{proposed}");
    // The proposal is a manifest.
    std::fs::write(path.join("plugin.toml"), proposed.replace("noop", "undeclared-files")).unwrap();
    Zipfs(data.path()).fails(&["plugin", "add", "--yes", path.to_str().unwrap()], 5);
}

#[test]
fn reading_and_writing_are_told_apart() {
    let (_place, path) = folder("typed", TYPED);
    let case = path.join("cases/notes_read/there");
    std::fs::create_dir_all(case.join("before")).unwrap();
    std::fs::write(case.join("before/a.txt"), "a").unwrap();
    std::fs::write(case.join("arguments.json"), r#"{"path": "a.txt"}"#).unwrap();
    let (_, report) = report(path.to_str().unwrap(), &["--update"]);
    let of = |name: &str| {
        report["needs"]["tools"].as_array().unwrap().iter().find(|tool| tool["tool"] == name).unwrap()["workspace"].clone()
    };
    assert_eq!((of("notes_read"), of("notes_write"), of("add")), (json!("read"), json!("write"), json!("none")), "{report}");
}
