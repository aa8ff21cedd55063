//! `zipfs_status`: what differs, and what it costs to know.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Archive, Server, Session, have};

fn unchanged(count: u64) -> Value {
    json!({"modified": [], "added": [], "deleted": [], "unchanged_count": count})
}

fn set_modified(path: &Path, time: SystemTime) {
    std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Changes a file so that size and time are those it had.
fn edit_in_disguise(path: &Path, contents: &str) {
    let before = std::fs::metadata(path).unwrap();
    assert_eq!(before.len(), contents.len() as u64);
    std::fs::write(path, contents).unwrap();
    set_modified(path, before.modified().unwrap());
}

#[test]
fn a_touch_is_no_change_and_an_edit_in_disguise_is_one() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("touched.txt", "same"), ("edited.txt", "edit"), ("other.txt", "----")]));
    for round in 0..3 {
        // Also once everything has been looked at and found the same before.
        session.call("zipfs_status", json!({})).is(unchanged(3));
        std::thread::sleep(Duration::from_millis(30));
        set_modified(&session.path.join("touched.txt"), SystemTime::now() + Duration::from_secs(round * 100));
        session.call("zipfs_status", json!({})).is(unchanged(3));
        std::thread::sleep(Duration::from_millis(30));
        edit_in_disguise(&session.path.join("edited.txt"), "EDIT");
        let seen = session.call("zipfs_status", json!({})).value();
        assert_eq!(seen["modified"], json!(["edited.txt"]));
        // It stays one, however often somebody looks.
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(session.call("zipfs_status", json!({})).value(), seen);
        edit_in_disguise(&session.path.join("edited.txt"), "edit");
    }
}

#[test]
fn edits_that_follow_each_other_without_a_pause_are_all_seen() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "00")]));
    let file = session.path.join("a.txt");
    for round in 1..60 {
        edit_in_disguise(&file, &format!("{round:02}"));
        assert_eq!(session.call("zipfs_status", json!({})).value()["modified"], json!(["a.txt"]), "round {round}");
        edit_in_disguise(&file, "00");
        assert_eq!(session.call("zipfs_status", json!({})).value(), unchanged(1), "round {round}");
    }
}

#[test]
fn after_a_sync_the_synced_state_is_the_measure() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "old"), ("b.txt", "gone"), ("c.txt", "same")]);
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "new"})).value();
    session.call("zipfs_write", json!({"path": "d.txt", "content": "added"})).value();
    session.call("zipfs_delete", json!({"path": "b.txt"})).value();
    session.call("zipfs_sync", json!({})).value();
    session.call("zipfs_status", json!({})).is(unchanged(3));
    edit_in_disguise(&session.path.join("a.txt"), "old");
    edit_in_disguise(&session.path.join("d.txt"), "ADDED");
    session.call("zipfs_write", json!({"path": "b.txt", "content": "gone"})).value();
    session
        .call("zipfs_status", json!({}))
        .is(json!({"modified": ["a.txt", "d.txt"], "added": ["b.txt"], "deleted": [], "unchanged_count": 1}));
    // The counts of the second sync are its own.
    let synced = session.call("zipfs_sync", json!({})).value();
    assert_eq!((&synced["files_modified"], &synced["files_added"], &synced["files_deleted"]), (&json!(2), &json!(1), &json!(0)));
    session.call("zipfs_status", json!({})).is(unchanged(4));
    let closed = session.call("zipfs_close", json!({})).value();
    assert_eq!(closed["discarded_changes"], 0);
}

#[test]
fn lists_are_sorted_and_always_the_same() {
    let names: Vec<String> = (0..63).map(|n| format!("{}/{:02}.txt", ["z", "a", "m"][n % 3], (n * 37) % 63)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let server = Server::start();
    let session = server.open(&Archive::of(&files));
    for (number, name) in names.iter().enumerate() {
        match number / 3 % 3 {
            0 => std::fs::write(session.path.join(name), "changed").unwrap(),
            1 => std::fs::remove_file(session.path.join(name)).unwrap(),
            _ => std::fs::write(session.path.join(name).with_extension("new"), "new").unwrap(),
        }
    }
    let first = session.call("zipfs_status", json!({})).value();
    for list in ["modified", "added", "deleted"] {
        let list = first[list].as_array().unwrap();
        assert!(list.len() == 21 && list.is_sorted_by_key(|name| name.as_str().unwrap().to_owned()), "{list:?}");
    }
    assert_eq!(session.call("zipfs_status", json!({})).value(), first);
}

/// How often files of the workspace were opened in a trace.
fn opened(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().filter(|line| line.contains(".txt\"") && !line.contains("ENOENT")).map(str::to_owned).collect()
}

#[test]
fn once_settled_a_status_opens_no_file_that_did_not_change() {
    if !have("strace", "a status only stats what did not change") {
        return;
    }
    let names: Vec<String> = (0..300).map(|n| format!("d{}/{n}.txt", n % 7)).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "contents")).collect();
    let archive = Archive::of(&files);
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let server = Server::traced("open,openat,openat2", &trace);
    let session = server.open(&archive);
    let settle = || std::thread::sleep(Duration::from_millis(50));
    let opens_of = |session: &Session, expected: Value| {
        let before = opened(&trace).len();
        session.call("zipfs_status", json!({})).is(expected);
        settle();
        opened(&trace).split_off(before)
    };
    settle();
    // What was extracted within the last tick is read once more, at the most.
    session.call("zipfs_status", json!({})).is(unchanged(300));
    settle();
    assert_eq!(opens_of(&session, unchanged(300)), Vec::<String>::new());

    // A file that was touched is read once, and then trusted again.
    set_modified(&session.path.join(&names[7]), SystemTime::now());
    settle();
    assert_eq!(opens_of(&session, unchanged(300)).len(), 1);
    assert_eq!(opens_of(&session, unchanged(300)), Vec::<String>::new());

    // One that differs is read each time, and only that one; once it is synced, it too is trusted.
    session.call("zipfs_write", json!({"path": names[9], "content": "CONTENTS"})).value();
    settle();
    let modified = json!({"modified": [names[9]], "added": [], "deleted": [], "unchanged_count": 299});
    for _ in 0..2 {
        let opens = opens_of(&session, modified.clone());
        assert!(opens.len() == 1 && opens[0].contains("9.txt"), "{opens:?}");
    }
    session.call("zipfs_sync", json!({})).value();
    session.call("zipfs_status", json!({})).is(unchanged(300));
    settle();
    assert_eq!(opens_of(&session, unchanged(300)), Vec::<String>::new());
}

#[test]
fn an_archive_is_opened_once_to_be_read() {
    if !have("strace", "what is scanned, extracted and hashed is one and the same copy") {
        return;
    }
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2")]);
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let server = Server::traced("open,openat,openat2", &trace);
    server.open(&archive);
    let text = std::fs::read_to_string(&trace).unwrap();
    let opens: Vec<&str> = text.lines().filter(|line| line.contains(archive.path().to_str().unwrap())).collect();
    assert_eq!(opens.len(), 1, "{opens:?}");
}
