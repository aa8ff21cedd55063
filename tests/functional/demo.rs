//! `zipfs demo`: it works, it shows every refusal, and it leaves nothing behind.

use crate::support::Zipfs;

#[test]
fn the_demonstration_runs_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let output = Zipfs(&home.path().join("data"))
        .command()
        .env("TMPDIR", temporary.path())
        .env("HOME", home.path())
        .arg("demo")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "zipfs_open",
        "zipfs_read",
        "zipfs_sync",
        "TIMEOUT",
        "LIMIT_EXCEEDED",
        "claude mcp add",
        ".cursor/mcp.json",
        ".vscode/mcp.json",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!text.contains("not stopped"), "{text}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}
