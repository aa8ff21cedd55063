//! The work of an agent from end to end, judged by programs that are not ours: Info-ZIP, 7-Zip and Python.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use zip::write::{FileOptions, SimpleFileOptions};
use zip::{CompressionMethod, DateTime};

use crate::support::{Archive, Part, Server, have, python, raw_zip, run};

/// Text that is worth compressing.
fn prose(word: &str) -> String {
    (1..=40).map(|line| format!("line {line} of {word}\n")).collect()
}

fn options(method: CompressionMethod, mode: u32) -> SimpleFileOptions {
    let time = DateTime::from_date_and_time(2020, 2, 29, 13, 14, 16).expect("a date");
    SimpleFileOptions::default().compression_method(method).unix_permissions(mode).last_modified_time(time)
}

/// Files in this order; a name that ends in `/` is a directory. The first may have to be stored.
fn written(first: CompressionMethod, files: &[(&str, String, u32)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (number, (name, contents, mode)) in files.iter().enumerate() {
        let method = if number == 0 { first } else { CompressionMethod::Deflated };
        if let Some(directory) = name.strip_suffix('/') {
            writer.add_directory(directory, options(CompressionMethod::Stored, *mode)).unwrap();
        } else {
            let options: FileOptions<()> = options(method, *mode);
            writer.start_file(*name, options).unwrap();
            writer.write_all(contents.as_bytes()).unwrap();
        }
    }
    writer.set_comment("made for a test").unwrap();
    writer.finish().unwrap().into_inner()
}

/// What Python sees of each entry, in order: name, mode, time, comment, method, contents.
const PYTHON: &str = "import json, sys, zipfile\n\
    z = zipfile.ZipFile(sys.argv[1])\n\
    assert z.testzip() is None\n\
    e = lambda i: {'name': i.filename, 'mode': i.external_attr >> 16, 'time': list(i.date_time), 'comment': i.comment.decode(),\n\
    'method': i.compress_type, 'contents': z.read(i).decode()}\n\
    print(json.dumps({'comment': z.comment.decode(), 'entries': [e(i) for i in z.infolist()]}))";

/// Edits `edited`, deletes `deleted` and adds a file, as an agent would, and lets the other programs look.
fn edit_and_judge(archive: &Archive, edited: &str, deleted: &str) {
    let tools = ["unzip", "7z", "python3"].map(|program| have(program, "it can read what a sync wrote"));
    let path = archive.path().to_str().unwrap();
    let before = tools[2].then(|| python(PYTHON, &[path]));
    let bytes = std::fs::read(archive.path()).unwrap();

    let new_text = agent_edits(archive, edited, deleted);
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for (name, contents) in archive.read() {
        expected.insert(name, String::from_utf8(contents).unwrap());
    }
    assert_eq!(expected[edited], new_text);
    assert!(!expected.contains_key(deleted) && expected["notes/added by an agent.txt"] == "added\n");

    if let Some(before) = before {
        check_python(before, python(PYTHON, &[path]), edited, deleted, &new_text);
    }
    if tools[0] {
        run("unzip", &["-tqq", path], archive.dir());
        let out = tempfile::tempdir().unwrap();
        run("unzip", &["-qq", path, "-d", out.path().to_str().unwrap()], archive.dir());
        check_files(out.path(), &expected);
    }
    if tools[1] {
        let out = tempfile::tempdir().unwrap();
        run("7z", &["x", "-y", "-bd", &format!("-o{}", out.path().display()), path], archive.dir());
        check_files(out.path(), &expected);
    }
    let backups: Vec<_> = std::fs::read_dir(archive.dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let backup = backups.iter().find(|path| path.to_string_lossy().contains(".bak")).expect("a backup");
    assert_eq!(std::fs::read(backup).unwrap(), bytes, "the backup is the old archive");
}

/// open → tree → grep → read → write → diff → status → sync. Returns the new text of the edited file.
fn agent_edits(archive: &Archive, edited: &str, deleted: &str) -> String {
    let server = Server::start();
    let session = server.open(archive);
    let tree = session.call("zipfs_tree", json!({})).value();
    assert!(tree["tree"].as_str().unwrap().contains(edited.rsplit('/').next().unwrap()), "{tree}");
    let found = session.call("zipfs_grep", json!({"pattern": "^line 2[05] of", "path": edited})).value();
    assert_eq!((&found["total_matches"], &found["matches"][0]["line_number"]), (&json!(2), &json!(20)));
    let read = session.call("zipfs_read", json!({"path": edited})).value();
    assert_eq!(read["eof"], true);
    let text = read["content"].as_str().unwrap().replace("line 20 of", "LINE TWENTY of");
    session.call("zipfs_write", json!({"path": edited, "content": text})).value();
    session.call("zipfs_write", json!({"path": "notes/added by an agent.txt", "content": "added\n"})).value();
    session.call("zipfs_delete", json!({"path": deleted})).value();
    let diff = session.call("zipfs_diff", json!({"path": edited, "context": 0})).value();
    let shown = diff["diff"].as_str().unwrap();
    assert!(shown.contains("\n-line 20 of") && shown.contains("\n+LINE TWENTY of"), "{shown}");
    let status = session.call("zipfs_status", json!({})).value();
    assert_eq!(status["modified"], json!([edited]));
    assert_eq!((&status["added"], &status["deleted"]), (&json!(["notes/added by an agent.txt"]), &json!([deleted])));
    let synced = session.call("zipfs_sync", json!({})).value();
    assert_eq!((&synced["files_modified"], &synced["files_added"], &synced["files_deleted"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(session.call("zipfs_diff", json!({})).value()["files"], json!([]));
    session.call("zipfs_close", json!({})).value();
    text
}

/// Order, names, modes, times, comments and methods are what they were, but for the one edited, the one gone and the one new.
fn check_python(mut before: Value, mut after: Value, edited: &str, deleted: &str, new_text: &str) {
    let added = after["entries"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!((&added["name"], &added["contents"]), (&json!("notes/added by an agent.txt"), &json!("added\n")));
    let before_entries = before["entries"].as_array_mut().unwrap();
    before_entries.retain(|entry| entry["name"] != deleted);
    for (old, new) in before_entries.iter_mut().zip(after["entries"].as_array_mut().unwrap()) {
        if old["name"] == edited {
            assert!(new["time"][0].as_u64().unwrap() >= 2026, "the time of the edit: {}", new["time"]);
            (old["contents"], old["time"]) = (json!(new_text), new["time"].clone());
        }
    }
    assert_eq!(after, before);
}

fn check_files(out: &Path, expected: &BTreeMap<String, String>) {
    for (name, contents) in expected {
        let path = out.join(name);
        if name.ends_with('/') {
            assert!(path.is_dir(), "{name}");
        } else {
            assert_eq!(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}")), contents, "{name}");
        }
    }
}

#[test]
fn a_plain_archive() {
    let archive = Archive::new(
        "project.zip",
        &written(
            CompressionMethod::Deflated,
            &[
                ("zebra/last.txt", prose("zebra"), 0o644),
                ("src/", String::new(), 0o755),
                ("src/main.txt", prose("main"), 0o600),
                ("run.sh", "#!/bin/sh\n".into(), 0o755),
                ("empty/", String::new(), 0o700),
                ("old.txt", prose("old"), 0o644),
                ("nothing", String::new(), 0o644),
            ],
        ),
    );
    edit_and_judge(&archive, "src/main.txt", "old.txt");
}

#[test]
fn a_book_keeps_its_first_entry_first_and_uncompressed() {
    let archive = Archive::new(
        "book.epub",
        &written(
            CompressionMethod::Stored,
            &[
                ("mimetype", "application/epub+zip".into(), 0o644),
                ("META-INF/container.xml", "<container/>".into(), 0o644),
                ("OEBPS/chapter1.xhtml", prose("chapter one"), 0o644),
                ("OEBPS/chapter2.xhtml", prose("chapter two"), 0o644),
            ],
        ),
    );
    edit_and_judge(&archive, "OEBPS/chapter1.xhtml", "OEBPS/chapter2.xhtml");
    let bytes = std::fs::read(archive.path()).unwrap();
    // Where readers of books look for it: at a fixed place, without an extra field.
    assert_eq!(&bytes[30..58], b"mimetypeapplication/epub+zip");
}

#[test]
fn a_program_keeps_its_manifest_first() {
    let archive = Archive::new(
        "program.jar",
        &written(
            CompressionMethod::Stored,
            &[
                ("META-INF/", String::new(), 0o755),
                ("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n".into(), 0o644),
                ("com/example/Main.class", prose("code"), 0o644),
                ("com/example/notes.txt", prose("notes"), 0o644),
            ],
        ),
    );
    edit_and_judge(&archive, "com/example/notes.txt", "com/example/Main.class");
    let names: Vec<String> = crate::support::raw_entries(&std::fs::read(archive.path()).unwrap())
        .into_iter()
        .map(|entry| String::from_utf8(entry.name).unwrap())
        .collect();
    assert_eq!(names[..2], ["META-INF/", "META-INF/MANIFEST.MF"]);
}

#[test]
fn a_self_extractor_stays_one() {
    let stub = b"#!/bin/sh\necho 'this would extract itself'; exit 0\n";
    let commented = |part: Part| part.with(|part| part.comment = b"kept".to_vec());
    let archive = Archive::new(
        "setup.zip",
        &raw_zip(
            stub,
            &[
                commented(Part::new("readme.txt", prose("readme"))),
                commented(Part::new("license.txt", prose("license")).mode(0o100_400)),
                Part::new("tool", "#!/bin/sh\n").mode(0o100_755),
            ],
            b"a comment",
        ),
    );
    edit_and_judge(&archive, "readme.txt", "license.txt");
    assert!(std::fs::read(archive.path()).unwrap().starts_with(stub));
    std::fs::set_permissions(archive.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(run("sh", &["setup.zip"], archive.dir()), "this would extract itself\n");
}
