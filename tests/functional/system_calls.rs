//! How often a call asks the kernel: a count that is the same on a busy machine and on a quiet one, where times are not.
//!
//! Each is what was counted when it was written here. More is a step back that no benchmark on a shared machine would show; whoever
//! needs fewer writes down the new count.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{Archive, Server, have};

/// What is about files and directories. What moves work between threads depends on who is busy, and is not counted.
const COUNTED: &str = "openat,openat2,statx,newfstatat,flock,utimensat,fcntl,pread64,getdents64";

/// For a read of a small file: nine to find the session and lock it, eight for the file, seven for the audit log, one
/// for the grants.
const MOST_OF_A_READ: f64 = 25.0;

/// A tick of the clock within a call can look at a file again; that is not three in a hundred.
const SPARE: f64 = 1.03;

#[test]
fn a_read_asks_the_kernel_as_often_as_it_has_to() {
    if !have("strace", "a read makes no more system calls than it did") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let server = Server::traced(COUNTED, &trace);
    let session = server.open(&Archive::of(&[("note.txt", "A note.\n")]));
    let read = |times: usize| {
        for _ in 0..times {
            session.call("zipfs_read", json!({"path": "note.txt"})).value();
        }
        // What strace has not written yet.
        std::thread::sleep(Duration::from_millis(100));
        calls(&trace)
    };
    // Until the list of sessions is old enough to be trusted, it is read each time.
    read(5);
    const READS: usize = 200;
    let (before, after) = (read(5), read(READS));
    let each = (after - before) as f64 / READS as f64;
    assert!(each > 5.0, "strace saw {each} calls: nothing was counted");
    assert!(each <= MOST_OF_A_READ * SPARE, "{each} system calls for a read; it was {MOST_OF_A_READ}");
}

fn calls(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).unwrap();
    // A call that another thread's interrupted in the trace has a second line.
    text.lines().filter(|line| line.contains('(') && !line.contains(" resumed>")).count()
}
