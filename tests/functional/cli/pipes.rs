//! Readers that have seen enough.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Archive, Zipfs};

/// Reads one byte of a command's output and goes away; the command must take that well.
#[track_caller]
fn is_left_early(zipfs: &Zipfs<'_>, arguments: &[&str]) {
    let mut child = zipfs.command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut byte = [0];
    child.stdout.take().unwrap().read_exact(&mut byte).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "zipfs {arguments:?}: {:?}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "zipfs {arguments:?}");
}

#[test]
fn a_reader_may_leave_early() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let names: Vec<String> = (0..5000).map(|number| format!("some/rather/long/directory/name/{number:05}.txt")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a line with a needle\n")).collect();
    let large = "needle in a large file\n".repeat(400_000);
    files.push(("large.txt", &large));
    std::fs::write(data.path().join("config.json"), r#"{"security": {"max_compression_ratio": 100000}}"#).unwrap();
    let archive = Archive::of(&files);
    zipfs.ok(&["open", archive.path().to_str().unwrap()]);
    for arguments in [
        &["ls", "-r"][..],
        &["ls", "-r", "--json"],
        &["tree"],
        &["read", "large.txt"],
        &["read", "large.txt", "--json"],
        &["grep", "needle", "--max-results", "5000", "--quiet"],
        &["tools", "--json"],
        &["help"],
        &["completion", "bash"],
    ] {
        is_left_early(&zipfs, arguments);
    }
}

#[test]
fn a_disk_that_is_full_is_a_failure() {
    let data = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Zipfs(data.path()).command().arg("tools").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("Standard output"));
}
