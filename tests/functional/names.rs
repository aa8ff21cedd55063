//! Names as archives have them: in any alphabet, with backslashes, differing by little. Each can be used, and goes back as it was.

use serde_json::{Value, json};

use crate::support::{Archive, Part, RawEntry, Server, Session, field, have, python, raw_entries, raw_zip};

/// An entry, and the path under which it is used.
fn samples() -> Vec<(Part, &'static str)> {
    let dos = |part: Part| part.with(|part| (part.made_by, part.attributes) = (20, 0x20));
    let owner = field(0x7875, &[1, 4, 232, 3, 0, 0, 4, 232, 3, 0, 0]);
    let chinese = b"#U4f60.txt";
    let unicode = field(0x7075, &[&[1][..], &crc32fast::hash(chinese).to_le_bytes(), "你.txt".as_bytes()].concat());
    vec![
        (Part::new("plain.txt", "plain").with(|part| part.comment = b"a comment".to_vec()), "plain.txt"),
        // Code page 437, as DOS and Windows write it.
        (dos(Part::new(b"\x81ber/stra\xe1e.txt", "cp437")), "über/straße.txt"),
        // Shift-JIS without any mark: shown as code page 437, and never guessed at.
        (dos(Part::new(b"\x93\xfa\x96{.txt", "shift-jis")), "ô·û{.txt"),
        (Part::new(b"latin1-\xe9.txt", "latin 1"), "latin1-Θ.txt"),
        (Part::new("naïve.txt", "marked").utf8().with(|part| part.comment = "ü".into()), "naïve.txt"),
        (Part::new("señor.txt", "not marked"), "señor.txt"),
        (Part::new("windows\\dir\\file.txt", "backslashes"), "windows\\dir\\file.txt"),
        (Part::new("Readme.md", "one"), "Readme.md"),
        (Part::new("README.md", "two"), "README.md"),
        (Part::new("readme.MD", "three"), "readme.MD"),
        (Part::new("caf\u{e9}.txt", "composed").utf8(), "caf\u{e9}.txt"),
        (Part::new("cafe\u{301}.txt", "decomposed").utf8(), "cafe\u{301}.txt"),
        (Part::new(chinese, "a field with the name").with(|part| part.central_extra = unicode.clone()), "你.txt"),
        (
            Part::new("fields.txt", "extra fields").with(|part| {
                part.local_extra = [owner.clone(), field(0xcafe, b"unknown")].concat();
                part.central_extra = [field(0xcafe, b"unknown to all"), owner].concat();
            }),
            "fields.txt",
        ),
        (Part::new("..data", "not a way up").mode(0o100_600), "..data"),
        (Part::new("a..b/ c .txt", "blanks").mode(0o100_755), "a..b/ c .txt"),
        (Part::new("-rf", "no option"), "-rf"),
        (Part::new("\u{202e}txt.exe", "turned round").utf8(), "\u{202e}txt.exe"),
    ]
}

fn archive() -> Archive {
    let parts: Vec<Part> = samples().into_iter().map(|(part, _)| part).collect();
    Archive::new("names.zip", &raw_zip(b"", &parts, b"comment of the archive"))
}

fn entries(archive: &Archive) -> Vec<RawEntry> {
    raw_entries(&std::fs::read(archive.path()).unwrap())
}

fn names(session: &Session) -> Vec<String> {
    let listed = session.call("zipfs_ls", json!({"recursive": true})).value();
    let files = listed["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "file");
    files.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_name_is_listed_once_and_can_be_read() {
    let server = Server::start();
    let session = server.open(&archive());
    let mut expected: Vec<&str> = samples().iter().map(|(_, path)| *path).collect();
    expected.sort_unstable();
    assert_eq!(names(&session), expected);
    for (part, path) in samples() {
        let read = session.call("zipfs_read", json!({"path": path})).value();
        assert_eq!(read["content"].as_str().unwrap().as_bytes(), part.contents, "{path}");
        let found = session.call("zipfs_grep", json!({"pattern": ".", "path": path})).value();
        assert_eq!(found["matches"][0]["file"], path);
    }
    session
        .call("zipfs_status", json!({}))
        .is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": expected.len()}));
}

#[test]
fn an_edit_keeps_the_name_as_it_was_and_leaves_the_others_alone() {
    let server = Server::start();
    let archive = archive();
    let session = server.open(&archive);
    let mut before = entries(&archive);
    for (number, (_, path)) in samples().into_iter().enumerate() {
        let text = format!("new contents of {path}");
        session.call("zipfs_write", json!({"path": path, "content": text})).value();
        session.call("zipfs_status", json!({})).value()["modified"]
            .as_array()
            .map(|list| assert_eq!(*list, [json!(path)]))
            .unwrap();
        session.call("zipfs_sync", json!({})).value();
        let after = entries(&archive);
        assert_eq!(after.len(), before.len());
        for (index, (old, new)) in before.iter().zip(&after).enumerate() {
            if index == number {
                assert_eq!(new.data, text.as_bytes(), "stored stays stored");
                // Everything but the contents, to the byte.
                assert_eq!(&RawEntry { data: old.data.clone(), ..new.clone() }, old, "{path}");
            } else {
                assert_eq!(new, old, "{path} was edited");
            }
        }
        before = after;
    }
    assert!(std::fs::read(archive.path()).unwrap().ends_with(b"comment of the archive"));
}

#[test]
fn a_deleted_name_goes_and_only_that_one() {
    let server = Server::start();
    let archive = archive();
    let session = server.open(&archive);
    let mut expected = entries(&archive);
    for (_, path) in samples().into_iter().skip(1) {
        // With its directory, if it has one: left empty, that would be said in the archive.
        let whole = path.split('/').next().unwrap();
        session.call("zipfs_delete", json!({"path": whole, "recursive": true})).value();
        session.call("zipfs_read", json!({"path": path})).fails("PATH_NOT_FOUND");
        session.call("zipfs_sync", json!({})).value();
        expected.remove(1);
        assert_eq!(entries(&archive), expected, "{path}");
    }
}

#[test]
fn python_reads_the_same_names_and_the_new_contents() {
    if !have("python3", "another program reads odd names back") {
        return;
    }
    // The bytes of a name, whichever way Python decoded them.
    let script = "import json, sys, zipfile\n\
        z = zipfile.ZipFile(sys.argv[1])\n\
        assert z.testzip() is None\n\
        raw = lambda i: list(i.orig_filename.encode('utf-8' if i.flag_bits & 0x800 else 'cp437'))\n\
        print(json.dumps([[raw(i), list(z.read(i)), i.comment.hex(), i.create_system, i.extra.hex()] for i in z.infolist()]))";
    let server = Server::start();
    let archive = archive();
    let path = archive.path().to_str().unwrap();
    let before = python(script, &[path]);
    let session = server.open(&archive);
    for (_, path) in samples() {
        session.call("zipfs_write", json!({"path": path, "content": "new"})).value();
    }
    session.call("zipfs_write", json!({"path": "neu/größe 你.txt", "content": "added"})).value();
    session.call("zipfs_sync", json!({})).value();
    let mut after = python(script, &[path]);
    let added = after.as_array_mut().unwrap().pop().unwrap();
    assert_eq!((&added[0], &added[1]), (&json!("neu/größe 你.txt".as_bytes()), &json!(b"added")));
    let expected: Vec<Value> =
        before.as_array().unwrap().iter().map(|entry| json!([entry[0], b"new", entry[2], entry[3], entry[4]])).collect();
    assert_eq!(after, json!(expected));
}

#[test]
fn a_name_that_begins_with_a_dot_and_a_slash_is_the_plain_one() {
    let server = Server::start();
    let archive = Archive::new("dots.zip", &raw_zip(b"", &[Part::new("./a.txt", "1"), Part::new("./d/b.txt", "2")], b""));
    let session = server.open(&archive);
    assert_eq!(names(&session), ["a.txt", "d/b.txt"]);
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 2}));
    session.call("zipfs_write", json!({"path": "a.txt", "content": "new"})).value();
    session.call("zipfs_sync", json!({})).value();
    let raw: Vec<Vec<u8>> = entries(&archive).into_iter().map(|entry| entry.name).collect();
    assert_eq!(raw, [b"./a.txt".to_vec(), b"./d/b.txt".to_vec()]);
}

#[test]
fn names_that_can_be_taken_for_another_are_refused_and_nothing_stays() {
    let server = Server::start();
    let plain = |name: &str| Part::new(name, "x");
    for (code, parts) in [
        ("ZIP_INVALID", vec![plain("a"), plain("a")]),
        ("ZIP_INVALID", vec![plain("a"), plain("./a")]),
        ("ZIP_INVALID", vec![plain("a"), plain("a/b")]),
        ("ZIP_INVALID", vec![plain("a//b")]),
        ("ZIP_INVALID", vec![Part::new(b"\xff\xfe", "not UTF-8").utf8()]),
        ("ZIP_INVALID", vec![Part::new(b"\x81", "cp437"), plain("ü")]),
        ("PATH_TRAVERSAL", vec![plain("a/../b")]),
        ("PATH_TRAVERSAL", vec![plain("..\\b")]),
        ("PATH_TRAVERSAL", vec![plain("a\nb")]),
        ("PATH_TRAVERSAL", vec![plain("C:/b")]),
    ] {
        let archive = Archive::new("odd.zip", &raw_zip(b"", &parts, b""));
        server.call("zipfs_open", json!({"path": archive.path()})).fails(code);
        server.call("zipfs_sessions", json!({})).is(json!({"sessions": []}));
    }
}
