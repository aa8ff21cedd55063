//! `zipfs_ls`, `zipfs_read`, `zipfs_write`.

use serde_json::json;

use crate::support::{Archive, Server};

#[test]
fn ls_lists_as_documented() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("b.txt", "12345"), ("a/x.txt", "1"), ("a/y/z.txt", "22")]));
    let names = |value: serde_json::Value| -> Vec<(String, String, u64)> {
        let entries = value["entries"].as_array().unwrap().clone();
        let one = |entry: &serde_json::Value| {
            let time = entry["modified_at"].as_str().unwrap();
            assert!(time.ends_with('Z') && time.len() == 20, "{time}");
            (entry["name"].as_str().unwrap().into(), entry["type"].as_str().unwrap().into(), entry["size_bytes"].as_u64().unwrap())
        };
        entries.iter().map(one).collect()
    };
    let row = |name: &str, kind: &str, size: u64| (name.to_owned(), kind.to_owned(), size);
    let top = [row("a/", "dir", 0), row("b.txt", "file", 5)];
    for path in ["/", "", "."] {
        assert_eq!(names(session.call("zipfs_ls", json!({"path": path})).value()), top, "{path:?}");
    }
    assert_eq!(names(session.call("zipfs_ls", json!({})).value()), top);
    assert_eq!(names(session.call("zipfs_ls", json!({"path": "a"})).value()), [row("x.txt", "file", 1), row("y/", "dir", 0)]);
    assert_eq!(
        names(session.call("zipfs_ls", json!({"path": "a", "recursive": true})).value()),
        [row("x.txt", "file", 1), row("y/", "dir", 0), row("y/z.txt", "file", 2)]
    );
    assert_eq!(names(session.call("zipfs_ls", json!({"path": "b.txt"})).value()), [row("b.txt", "file", 5)]);
    session.call("zipfs_ls", json!({"path": "missing"})).fails("PATH_NOT_FOUND");
}

#[test]
fn read_returns_ranges_and_never_half_a_character() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("t.txt", "aäöü€x"), ("d/e.txt", "")]));
    session
        .call("zipfs_read", json!({"path": "t.txt"}))
        .is(json!({"content": "aäöü€x", "size_bytes": 11, "encoding": "utf-8", "total_size_bytes": 11, "eof": true}));
    // The limit falls into the middle of `ä`, so one byte less comes back.
    let part = session.call("zipfs_read", json!({"path": "t.txt", "limit": 2})).value();
    assert_eq!((&part["content"], &part["size_bytes"], &part["eof"]), (&json!("a"), &json!(1), &json!(false)));
    let rest = session.call("zipfs_read", json!({"path": "t.txt", "offset": 7})).value();
    assert_eq!((&rest["content"], &rest["eof"]), (&json!("€x"), &json!(true)));
    let past = session.call("zipfs_read", json!({"path": "t.txt", "offset": 100})).value();
    assert_eq!((&past["content"], &past["size_bytes"], &past["eof"]), (&json!(""), &json!(0), &json!(true)));
    session.call("zipfs_read", json!({"path": "missing"})).fails("PATH_NOT_FOUND");
    session.call("zipfs_read", json!({"path": "d"})).fails("INVALID_PARAMS");
    session.call("zipfs_read", json!({"path": "t.txt", "encoding": "latin-1"})).fails("INVALID_PARAMS");
    session.call("zipfs_read", json!({"path": "t.txt", "offset": -1})).fails("INVALID_PARAMS");
}

#[test]
fn binary_files_go_through_base64_unchanged() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a", "1")]));
    let written = session.call("zipfs_write", json!({"path": "b.bin", "content": "AP+A/g==", "encoding": "base64"}));
    written.is(json!({"written": true, "size_bytes": 4}));
    assert_eq!(std::fs::read(session.path.join("b.bin")).unwrap(), [0x00, 0xff, 0x80, 0xfe]);
    let message = session.call("zipfs_read", json!({"path": "b.bin"})).fails("INVALID_PARAMS");
    assert!(message.contains("base64"), "{message}");
    let read = session.call("zipfs_read", json!({"path": "b.bin", "encoding": "base64"})).value();
    assert_eq!((&read["content"], &read["encoding"]), (&json!("AP+A/g=="), &json!("base64")));
    session.call("zipfs_write", json!({"path": "c", "content": "not base64!", "encoding": "base64"})).fails("INVALID_PARAMS");
}

#[test]
fn write_makes_parents_unless_told_not_to() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a.txt", "1")]));
    session.call("zipfs_write", json!({"path": "x/y/z.txt", "content": "deep"})).value();
    assert_eq!(std::fs::read_to_string(session.path.join("x/y/z.txt")).unwrap(), "deep");
    session.call("zipfs_write", json!({"path": "n/o.txt", "content": "", "create_dirs": false})).fails("PATH_NOT_FOUND");
    assert!(!session.path.join("n").exists());
    session.call("zipfs_write", json!({"path": "x", "content": ""})).fails("INVALID_PARAMS");
    session.call("zipfs_write", json!({"path": "a.txt/b", "content": ""})).fails("INVALID_PARAMS");
    session.call("zipfs_write", json!({"path": "/", "content": ""})).fails("INVALID_PARAMS");
}

#[test]
fn write_keeps_the_mode_and_leaves_no_temporary_file() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start();
    let session = server.open(&Archive::of(&[("run.sh", "old")]));
    let file = session.path.join("run.sh");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    session.call("zipfs_write", json!({"path": "run.sh", "content": "new"})).value();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(std::fs::read_dir(session.path.parent().unwrap().join("tmp")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&session.path).unwrap().count(), 1);
}

#[test]
fn a_large_file_is_read_in_pieces() {
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a", "1")]));
    let text = "0123456789abcdef".repeat(200_000);
    session.call("zipfs_write", json!({"path": "big.txt", "content": text})).value();
    let (mut offset, mut collected) = (0, String::new());
    loop {
        let part = session.call("zipfs_read", json!({"path": "big.txt", "offset": offset})).value();
        collected += part["content"].as_str().unwrap();
        offset += part["size_bytes"].as_u64().unwrap();
        if part["eof"] == json!(true) {
            break;
        }
        assert!(part["size_bytes"].as_u64().unwrap() > 0, "progress is made");
    }
    assert_eq!(collected, text);
}

#[test]
fn a_range_costs_what_the_range_is_and_not_what_the_file_is() {
    use std::io::{Seek, SeekFrom, Write};
    let server = Server::start();
    let session = server.open(&Archive::of(&[("a", "1")]));
    session.call("zipfs_read", json!({"path": "a"})).value();
    let memory = server.process().memory();
    let mut file = std::fs::File::create(session.path.join("huge")).unwrap();
    file.seek(SeekFrom::Start(64 << 30)).unwrap();
    file.write_all(b"the end").unwrap();
    let began = std::time::Instant::now();
    session
        .call("zipfs_read", json!({"path": "huge", "offset": 64u64 << 30, "limit": 3}))
        .is(json!({"content": "the", "size_bytes": 3, "encoding": "utf-8", "total_size_bytes": (64u64 << 30) + 7, "eof": false}));
    assert!(began.elapsed() < std::time::Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(server.process().memory() < memory + (32 << 20));
}
