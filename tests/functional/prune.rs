//! `zipfs_prune`: what nobody needs any more goes, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Archive, Server};

fn open(server: &Server, archive: &Archive, name: &str) {
    server.call("zipfs_open", json!({"path": archive.path(), "name": name})).value();
}

/// Lets a session look as if it was last used that many hours ago.
fn age(server: &Server, name: &str, hours: u64) {
    let lock = server.data().join("workspaces").join(name).join("metadata.json.lock");
    let lock = std::fs::File::options().write(true).open(lock).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|session| session["name"].as_str().unwrap()).collect()
}

fn open_sessions(server: &Server) -> Vec<String> {
    let listed = server.call("zipfs_sessions", json!({})).value();
    let mut names: Vec<String> = names(&listed["sessions"]).into_iter().map(str::to_owned).collect();
    names.sort();
    names
}

/// Every file below a directory with its size and time.
fn snapshot(directory: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let len = if metadata.is_dir() { 0 } else { metadata.len() };
            found.insert(entry.path().to_str().unwrap().to_owned(), (len, metadata.modified().unwrap()));
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn the_last_use_counts_whoever_it_was() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    for name in ["read", "by-command", "unused", "fresh"] {
        open(&server, &archive, name);
    }
    for name in ["read", "by-command", "unused"] {
        age(&server, name, 200);
    }
    server.call("zipfs_read", json!({"session": "read", "path": "a.txt"})).value();
    server.cli().ok(&["call", "zipfs_ls", "--arg", "session=by-command"]);
    let pruned = server.call("zipfs_prune", json!({"stale": "7d"})).value();
    assert_eq!(names(&pruned["pruned"]), ["unused"]);
    assert_eq!(pruned["pruned"][0]["reason"], "stale (8d)");
    assert_eq!(open_sessions(&server), ["by-command", "fresh", "read"]);
    assert!(!server.data().join("workspaces/unused").exists());
}

#[test]
fn a_session_in_use_stays() {
    let server = Server::with(json!({"defaults": {"lock_timeout_ms": 100}}));
    let archive = Archive::of(&[("a.txt", "1")]);
    for name in ["held", "free"] {
        open(&server, &archive, name);
    }
    let lock = std::fs::File::open(server.data().join("workspaces/held/metadata.json.lock")).unwrap();
    // Even somebody who only reads uses it.
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).unwrap();
    let pruned = server.call("zipfs_prune", json!({"all": true})).value();
    assert_eq!((names(&pruned["pruned"]), names(&pruned["skipped"])), (vec!["free"], vec!["held"]));
    server.call("zipfs_read", json!({"session": "held", "path": "a.txt"})).value();
    drop(lock);
    let pruned = server.call("zipfs_prune", json!({"all": true})).value();
    assert_eq!(names(&pruned["pruned"]), ["held"]);
}

#[test]
fn what_is_freed_is_what_was_held_and_limits_know_it() {
    let noise: String = (0..200_000u32).map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 24) as u8 % 90)).collect();
    let archive = Archive::of(&[("noise.txt", &noise)]);
    let held = std::fs::metadata(archive.path()).unwrap().len() + noise.len() as u64;
    let server = Server::with(json!({"security": {"max_total_disk_bytes": held * 2 + 50_000}}));
    for name in ["one", "two"] {
        open(&server, &archive, name);
    }
    server.call("zipfs_open", json!({"path": archive.path()})).fails("LIMIT_EXCEEDED");
    let told = server.call("zipfs_prune", json!({"all": true, "dry_run": true})).value();
    let pruned = server.call("zipfs_prune", json!({"all": true})).value();
    assert_eq!(told["freed_bytes"], pruned["freed_bytes"]);
    let freed = pruned["freed_bytes"].as_u64().unwrap();
    assert!(freed >= held * 2 && freed < held * 2 + (1 << 20), "{freed} for {held} each");
    open(&server, &archive, "one");
}

#[test]
fn a_dry_run_touches_nothing() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2")]);
    for name in ["one", "two"] {
        open(&server, &archive, name);
    }
    server.call("zipfs_write", json!({"session": "one", "path": "a.txt", "content": "changed"})).value();
    age(&server, "one", 100);
    let remains = server.data().join("workspaces/nameless/contents");
    std::fs::create_dir_all(&remains).unwrap();
    std::fs::write(remains.join("half.txt"), "half").unwrap();
    let listed = server.call("zipfs_sessions", json!({})).value();
    let before = snapshot(&server.data().join("workspaces"));
    for arguments in [json!({"all": true, "dry_run": true}), json!({"stale": "3d", "dry_run": true})] {
        let told = server.call("zipfs_prune", arguments).value();
        assert_eq!((&told["pruned"][0]["discarded_changes"], &told["remains_removed"]), (&json!(1), &json!(1)), "{told}");
        assert!(told["freed_bytes"].as_u64().unwrap() > 0);
    }
    assert_eq!(snapshot(&server.data().join("workspaces")), before);
    assert_eq!(server.call("zipfs_sessions", json!({})).value(), listed);
    assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 1);
}

#[test]
fn remains_of_interrupted_work_go() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    open(&server, &archive, "kept");
    let workspaces = server.data().join("workspaces");
    let remains = [".opening-00000000-0000-4000-8000-000000000001", ".closing-00000000-0000-4000-8000-000000000002", "nameless"];
    for name in remains {
        std::fs::create_dir_all(workspaces.join(name).join("contents")).unwrap();
        std::fs::write(workspaces.join(name).join("contents/old.txt"), "from another time").unwrap();
    }
    // A session can neither be made on top of them nor take over what they hold.
    let taken = server.call("zipfs_open", json!({"path": archive.path(), "name": "nameless"}));
    let message = taken.fails("NAME_COLLISION");
    assert!(message.contains("remains") && message.contains("zipfs_prune"), "{message}");
    let pruned = server.call("zipfs_prune", json!({"stale": "3650d"})).value();
    // The open has already cleared away what was hidden.
    assert_eq!(pruned["remains_removed"], 1);
    for name in remains {
        assert!(!workspaces.join(name).exists(), "{name}");
    }
    assert_eq!(open_sessions(&server), ["kept"]);
    open(&server, &archive, "nameless");
    server.call("zipfs_ls", json!({"session": "nameless", "path": "old.txt"})).fails("PATH_NOT_FOUND");
}
