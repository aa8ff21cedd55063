//! How many instructions a call takes: a count that is the same on a busy machine and on a quiet one, where times are not.
//!
//! Counted by callgrind in `tests/performance/inside.rs`, the program that calls tools through the gate without a wire. Each figure is
//! what was counted when it was written here; whoever needs fewer writes down the new count.

use std::path::{Path, PathBuf};

use crate::support::{Archive, Zipfs, have, skipped};

/// A read of 1 KiB, from the gate to its line in the audit log. A third of it are hashes, which callgrind's processor has no
/// instructions for.
const READ: f64 = 415_000.0;

/// Compilers and libraries of the system differ a little; a step back is more than that.
const SPARE: f64 = 1.1;

#[test]
fn a_read_takes_as_many_instructions_as_it_did() {
    const WHY: &str = "a read takes no more instructions than it did";
    if !have("valgrind", WHY) {
        return;
    }
    let Some(inside) = program() else {
        skipped(&format!("the example `inside` is not built (plain `cargo test` does), so nothing shows that {WHY}"));
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let archive = Archive::of(&[("note.txt", &"A line of sixteen\n".repeat(57))]);
    Zipfs(data.path()).ok(&["open", archive.path().to_str().unwrap()]);
    let count = |calls| instructions(&inside, data.path(), calls);
    const CALLS: u32 = 100;
    // What comes once is taken off.
    let (few, many) = (count(20), count(20 + CALLS));
    let each = (many - few) / f64::from(CALLS);
    assert!(each > 50_000.0, "callgrind saw {each} instructions for a read: nothing was counted");
    assert!(each <= READ * SPARE, "{each} instructions for a read; it was {READ}");
}

/// Beside the program under test.
fn program() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_zipfs")).with_file_name("examples").join("inside");
    program.exists().then_some(program)
}

fn instructions(inside: &Path, data: &Path, calls: u32) -> f64 {
    let mut command = std::process::Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(inside);
    command.args(["zipfs_read", r#"{"path": "note.txt"}"#, "--unpooled", "--count", &calls.to_string()]);
    let output = command.env("ZIPFS_DATA_DIR", data).output().expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    collected.and_then(|(_, count)| count.trim().parse().ok()).unwrap_or_else(|| panic!("no count in {said}"))
}
