//! `zipfs_status` and `zipfs_sync`.

use serde_json::json;

use crate::support::{Archive, Server, zip};

#[test]
fn status_sees_contents_not_times() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "same"), ("b.txt", "edit"), ("c.txt", "gone")]);
    let session = server.open(&archive);
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 3}));
    let touch = std::fs::File::options().append(true).open(session.path.join("a.txt")).unwrap();
    touch.set_modified(std::time::SystemTime::now()).unwrap();
    let edited = session.path.join("b.txt");
    let before = std::fs::metadata(&edited).unwrap().modified().unwrap();
    std::fs::write(&edited, "EDIT").unwrap();
    std::fs::File::options().append(true).open(&edited).unwrap().set_modified(before).unwrap();
    std::fs::remove_file(session.path.join("c.txt")).unwrap();
    session.call("zipfs_write", json!({"path": "d/e.txt", "content": "new"})).value();
    session
        .call("zipfs_status", json!({}))
        .is(json!({"modified": ["b.txt"], "added": ["d/e.txt"], "deleted": ["c.txt"], "unchanged_count": 1}));
}

#[test]
fn sync_writes_the_changes_and_keeps_a_backup() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2"), ("c.txt", "3")]);
    let old = std::fs::read(archive.path()).unwrap();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "one"})).value();
    session.call("zipfs_write", json!({"path": "n.txt", "content": "new"})).value();
    std::fs::remove_file(session.path.join("c.txt")).unwrap();
    let dry = session.call("zipfs_sync", json!({"dry_run": true})).value();
    assert_eq!((&dry["synced"], &dry["backup_path"]), (&json!(false), &json!("")));
    assert_eq!(std::fs::read(archive.path()).unwrap(), old);
    let synced = session.call("zipfs_sync", json!({})).value();
    let backup = archive.dir().join("sample.bak.zip");
    assert_eq!(synced["synced"], true);
    assert_eq!(synced["backup_path"], json!(backup));
    assert_eq!((&synced["files_modified"], &synced["files_added"], &synced["files_deleted"]), (&json!(1), &json!(1), &json!(1)));
    let now: Vec<(String, Vec<u8>)> = archive.read().into_iter().collect();
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    assert_eq!(now, [file("a.txt", "one"), file("b.txt", "2"), file("n.txt", "new")]);
    assert_eq!(std::fs::read(&backup).unwrap(), old);
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 3}));
}

#[test]
fn a_sync_without_changes_writes_nothing() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let session = server.open(&archive);
    let before = std::fs::metadata(archive.path()).unwrap().modified().unwrap();
    let synced = session.call("zipfs_sync", json!({})).value();
    assert_eq!((&synced["synced"], &synced["backup_path"]), (&json!(true), &json!("")));
    assert_eq!(std::fs::metadata(archive.path()).unwrap().modified().unwrap(), before);
    assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 1);
}

#[test]
fn backups_rotate_and_files_of_others_stay() {
    let server = Server::with(json!({"defaults": {"backup_rotation_depth": 2}}));
    let archive = Archive::of(&[("a.txt", "0")]);
    std::fs::write(archive.dir().join("sample.bak.2.zip"), "not ours").unwrap();
    let session = server.open(&archive);
    let mut versions = vec![std::fs::read(archive.path()).unwrap()];
    for round in 1..=4 {
        session.call("zipfs_write", json!({"path": "a.txt", "content": format!("{round}")})).value();
        session.call("zipfs_sync", json!({})).value();
        versions.push(std::fs::read(archive.path()).unwrap());
    }
    assert_eq!(std::fs::read(archive.dir().join("sample.bak.zip")).unwrap(), versions[3]);
    assert_eq!(std::fs::read(archive.dir().join("sample.bak.2.zip")).unwrap(), b"not ours");
    assert_eq!(std::fs::read(archive.dir().join("sample.bak.3.zip")).unwrap(), versions[2]);
    assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 4);
}

#[test]
fn no_more_backups_are_kept_than_wanted() {
    for depth in [0, 1] {
        let server = Server::with(json!({"defaults": {"backup_rotation_depth": depth}}));
        let archive = Archive::of(&[("a.txt", "0")]);
        let session = server.open(&archive);
        let mut before = Vec::new();
        for round in 1..=3 {
            before = std::fs::read(archive.path()).unwrap();
            session.call("zipfs_write", json!({"path": "a.txt", "content": format!("{round}")})).value();
            let synced = session.call("zipfs_sync", json!({})).value();
            assert_eq!(synced["backup_path"] == "", depth == 0, "{synced}");
        }
        assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 1 + depth);
        assert!(depth == 0 || std::fs::read(archive.dir().join("sample.bak.zip")).unwrap() == before);
    }
}

#[test]
fn syncs_without_changes_do_not_push_out_old_backups() {
    let server = Server::with(json!({"defaults": {"backup_rotation_depth": 2}}));
    let archive = Archive::of(&[("a.txt", "0")]);
    let first = std::fs::read(archive.path()).unwrap();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "1"})).value();
    session.call("zipfs_sync", json!({})).value();
    let written = std::fs::metadata(archive.path()).unwrap().modified().unwrap();
    for _ in 0..5 {
        let synced = session.call("zipfs_sync", json!({})).value();
        assert_eq!((&synced["synced"], &synced["backup_path"]), (&json!(true), &json!("")));
    }
    assert_eq!(std::fs::metadata(archive.path()).unwrap().modified().unwrap(), written);
    assert_eq!(std::fs::read(archive.dir().join("sample.bak.zip")).unwrap(), first);
    assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 2);
}

#[test]
fn a_changed_source_is_a_conflict_unless_forced() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1"), ("b.txt", "2")]);
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "mine"})).value();
    let theirs = zip(&[("a.txt", "theirs"), ("c.txt", "3")]);
    std::fs::write(archive.path(), &theirs).unwrap();
    session.call("zipfs_sync", json!({})).fails("CONFLICT_DETECTED");
    session.call("zipfs_sync", json!({"dry_run": true})).fails("CONFLICT_DETECTED");
    assert_eq!(std::fs::read(archive.path()).unwrap(), theirs);
    session.call("zipfs_sync", json!({"force": true})).value();
    let now = archive.read();
    assert_eq!(now.keys().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
    assert_eq!(now["a.txt"], b"mine");
    assert_eq!(std::fs::read(archive.dir().join("sample.bak.zip")).unwrap(), theirs);
    std::fs::remove_file(archive.path()).unwrap();
    session.call("zipfs_sync", json!({})).fails("ZIP_NOT_FOUND");
}

#[test]
fn untouched_entries_keep_their_bytes_and_order() {
    use std::io::Write;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    writer.start_file("mimetype", stored).unwrap();
    writer.write_all(b"application/epub+zip").unwrap();
    let deflated = zip::write::SimpleFileOptions::default().compression_level(Some(9));
    for name in ["z.txt", "m.txt", "a.txt"] {
        writer.start_file(name, deflated).unwrap();
        writer.write_all(name.repeat(100).as_bytes()).unwrap();
    }
    writer.set_comment("a comment").unwrap();
    let archive = Archive::new("book.epub", &writer.finish().unwrap().into_inner());
    let raw = |index: usize| {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(archive.path()).unwrap()).unwrap();
        assert_eq!(zip.comment(), b"a comment");
        let mut bytes = Vec::new();
        let mut entry = zip.by_index_raw(index).unwrap();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        (entry.name().unwrap().into_owned(), entry.compression(), entry.crc32(), bytes)
    };
    let before: Vec<_> = (0..4).map(raw).collect();
    let server = Server::start();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "m.txt", "content": "changed"})).value();
    session.call("zipfs_sync", json!({})).value();
    let after: Vec<_> = (0..4).map(raw).collect();
    for index in [0, 1, 3] {
        assert_eq!(before[index], after[index]);
    }
    assert_eq!(after[2].0, "m.txt");
    assert_eq!(archive.read()["m.txt"], b"changed");
    assert!(archive.dir().join("book.bak.epub").exists());
}

#[test]
fn backups_rotate_across_sessions() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "0")]);
    let mut versions = Vec::new();
    for round in 1..=5 {
        versions.push(std::fs::read(archive.path()).unwrap());
        let session = server.open(&archive);
        session.call("zipfs_write", json!({"path": "a.txt", "content": format!("{round}")})).value();
        session.call("zipfs_close", json!({"sync": true})).value();
    }
    let backup = |name: &str| std::fs::read(archive.dir().join(name)).unwrap();
    assert_eq!(backup("sample.bak.zip"), versions[4]);
    assert_eq!(backup("sample.bak.2.zip"), versions[3]);
    assert_eq!(backup("sample.bak.3.zip"), versions[2]);
    assert_eq!(std::fs::read_dir(archive.dir()).unwrap().count(), 4);
}

#[test]
fn closing_with_sync_does_not_lose_what_an_archive_cannot_hold() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let session = server.open(&archive);
    std::os::unix::fs::symlink("a.txt", session.path.join("link")).unwrap();
    let message = session.call("zipfs_close", json!({"sync": true})).fails("SYNC_FAILED");
    assert!(message.contains("link"), "{message}");
    assert!(session.path.join("link").symlink_metadata().is_ok());
    std::fs::remove_file(session.path.join("link")).unwrap();
    session.call("zipfs_close", json!({"sync": true})).value();
}

#[test]
fn a_damaged_session_is_not_passed_over_for_another() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "1")]);
    let good = server.open(&archive);
    let bad = server.open(&archive);
    std::fs::write(bad.path.parent().unwrap().join("metadata.json"), "{").unwrap();
    // A new look at the directory, as another process would have.
    server.cli().fails(&["call", "zipfs_ls"], 4);
    let text = server.cli().fails(&["call", "zipfs_ls", "--arg", &format!("session={}", bad.id)], 1);
    assert!(text.contains("damaged") && text.contains("original.zip"), "{text}");
    good.call("zipfs_ls", json!({})).value();
}
