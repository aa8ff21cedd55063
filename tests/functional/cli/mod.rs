//! The command line: any tool through the same gate, with exit codes that mean something.

mod help;
mod pipes;
mod shells;
mod terminal;
mod together;
mod transcripts;

use crate::support::{Archive, Zipfs};

#[test]
fn tools_can_be_listed_described_and_called() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let tools = zipfs.ok(&["tools"]);
    for tool in ["zipfs_open", "zipfs_close", "zipfs_ls", "zipfs_read", "zipfs_write", "zipfs_sessions", "zipfs_path"] {
        assert!(tools.lines().any(|line| line.starts_with(tool)), "{tool} is missing in\n{tools}");
    }
    assert!(zipfs.ok(&["tools", "zipfs_read"]).contains("\"session\""));
    let archive = Archive::of(&[("a.txt", "hello")]);
    let path = format!("path={}", archive.path().display());
    let opened: serde_json::Value = serde_json::from_str(&zipfs.ok(&["call", "zipfs_open", "--arg", &path])).unwrap();
    assert_eq!(opened["file_count"], 1);
    assert!(zipfs.ok(&["call", "zipfs_read", "--json", r#"{"path": "a.txt"}"#]).contains("hello"));
}

#[test]
fn exit_codes_tell_kinds_of_failure_apart() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    assert!(zipfs.fails(&["call", "zipfs_ls"], 4).contains("NO_SESSIONS"));
    assert!(zipfs.fails(&["call", "nonsense"], 1).contains("nonsense"));
    assert!(zipfs.fails(&["--no-such-flag"], 2).contains("no-such-flag"));
    let archive = Archive::of(&[("a.txt", "hello")]);
    zipfs.ok(&["call", "zipfs_open", "--arg", &format!("path={}", archive.path().display())]);
    assert!(zipfs.fails(&["call", "zipfs_read", "--arg", "path=../x"], 5).contains("PATH_TRAVERSAL"));
    let json = zipfs.fails(&["--json", "call", "zipfs_read", "--arg", "path=nope"], 1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["error"]["code"], "PATH_NOT_FOUND");
}

#[test]
fn a_configuration_with_a_mistake_stops_the_program() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("config.json"), r#"{"security": {"max_sesions": 3}}"#).unwrap();
    assert!(Zipfs(data.path()).fails(&["tools"], 1).contains("max_sesions"));
    std::fs::write(data.path().join("config.json"), "{").unwrap();
    assert!(Zipfs(data.path()).fails(&["tools"], 1).contains("config.json"));
    std::fs::remove_file(data.path().join("config.json")).unwrap();
    let output = Zipfs(data.path()).command().env("ZIPFS_MAX_SESSIONS", "many").arg("tools").output().unwrap();
    assert!(!output.status.success());
}
