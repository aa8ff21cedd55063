//! What an archive knows of its entries besides names and contents: modes, times, empty directories, links.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Archive, Part, RawEntry, Server, field, raw_entries, raw_zip};

/// A time to the second: in the extra field that Info-ZIP writes, and as DOS has it for those who do not read that.
fn at(seconds: i32, part: Part) -> Part {
    let time = field(0x5455, &[&[1][..], &seconds.to_le_bytes()].concat());
    part.with(|part| (part.local_extra, part.central_extra) = (time.clone(), time))
}

fn directory(name: &str, mode: u32) -> Part {
    Part::new(name, "").with(|part| part.attributes = (0o040_000 | mode) << 16 | 0x10)
}

fn entries(archive: &Archive) -> Vec<RawEntry> {
    raw_entries(&std::fs::read(archive.path()).unwrap())
}

/// The permission bits in an archive, by name.
fn packed_mode(archive: &Archive, name: &str) -> u32 {
    let entry = entries(archive).into_iter().find(|entry| entry.name == name.as_bytes()).expect("the entry");
    entry.attributes >> 16 & 0o7777
}

#[test]
fn times_and_modes_come_out_and_directories_keep_theirs() {
    let archive = Archive::new(
        "times.zip",
        &raw_zip(
            b"",
            &[
                at(1_500_000_000, directory("d/", 0o750)),
                at(1_500_000_001, Part::new("d/odd-second.txt", "x")),
                at(1_400_000_000, directory("closed/", 0o500)),
                at(1_400_000_003, Part::new("closed/inside.txt", "x").mode(0o100_400)),
                at(1_300_000_000, directory("open/", 0o2777)),
                at(1_300_000_001, directory("open/deep/", 0o700)),
                at(1_300_000_002, Part::new("open/deep/x", "x").mode(0o102_775)),
                Part::new("dos.txt", "no time to the second"),
            ],
            b"",
        ),
    );
    let server = Server::start();
    let session = server.open(&archive);
    let seen = |path: &str| {
        let found = std::fs::symlink_metadata(session.path.join(path)).unwrap();
        (found.mtime(), found.mode() & 0o7777)
    };
    assert_eq!(seen("d"), (1_500_000_000, 0o750));
    assert_eq!(seen("d/odd-second.txt"), (1_500_000_001, 0o644));
    // The owner can always work on it.
    assert_eq!(seen("closed"), (1_400_000_000, 0o700));
    assert_eq!(seen("closed/inside.txt"), (1_400_000_003, 0o600));
    // Others can never write, and nothing runs as somebody else.
    assert_eq!(seen("open"), (1_300_000_000, 0o755));
    assert_eq!(seen("open/deep"), (1_300_000_001, 0o700));
    assert_eq!(seen("open/deep/x"), (1_300_000_002, 0o755));
    // 2021-06-15 12:30:40, taken as UTC.
    assert_eq!(seen("dos.txt").0, 1_623_760_240);
    let listed = session.call("zipfs_ls", json!({"path": "d"})).value();
    assert_eq!(listed["entries"][0]["modified_at"], "2017-07-14T02:40:01Z");
    session.call("zipfs_close", json!({})).value();
    assert!(!session.path.exists());
}

#[test]
fn modes_go_back_as_they_were_and_times_as_they_are() {
    let modes = [("plain", 0o644), ("script", 0o777), ("private", 0o400), ("nothing", 0o000), ("suid", 0o4755)];
    let parts: Vec<Part> =
        modes.iter().map(|(name, mode)| at(1_500_000_000, Part::new(name, "x").mode(0o100_000 | mode))).collect();
    let archive = Archive::new("modes.zip", &raw_zip(b"", &parts, b""));
    let server = Server::start();
    let session = server.open(&archive);
    let before = entries(&archive);
    session.call("zipfs_write", json!({"path": "plain", "content": "new"})).value();
    session.call("zipfs_sync", json!({})).value();
    assert_eq!(entries(&archive)[1..], before[1..], "what was not edited is the same to the byte");

    for (name, mode) in modes {
        session.call("zipfs_write", json!({"path": name, "content": "edited"})).value();
        std::fs::File::options()
            .write(true)
            .open(session.path.join(name))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000))
            .unwrap();
        session.call("zipfs_sync", json!({})).value();
        // New contents do not run as somebody else because the old ones did.
        assert_eq!(packed_mode(&archive, name), mode & 0o1777, "{name}");
    }
    let expected = field(0x5455, &[&[1][..], &1_600_000_000i32.to_le_bytes()].concat());
    assert!(entries(&archive).iter().all(|entry| entry.central_extra == expected && entry.local_extra == expected));

    // A mode that somebody set counts.
    std::fs::set_permissions(session.path.join("plain"), PermissionsExt::from_mode(0o750)).unwrap();
    std::fs::write(session.path.join("plain"), "runs now").unwrap();
    std::fs::write(session.path.join("new"), "new").unwrap();
    std::fs::set_permissions(session.path.join("new"), PermissionsExt::from_mode(0o700)).unwrap();
    session.call("zipfs_sync", json!({})).value();
    assert_eq!((packed_mode(&archive, "plain"), packed_mode(&archive, "new")), (0o750, 0o700));
}

#[test]
fn empty_directories_stay_come_and_go() {
    let archive = Archive::new(
        "empty.zip",
        &raw_zip(b"", &[directory("kept/", 0o755), directory("gone/", 0o755), Part::new("full/a.txt", "1")], b""),
    );
    let server = Server::start();
    let session = server.open(&archive);
    let names = || entries(&archive).into_iter().map(|entry| String::from_utf8(entry.name).unwrap()).collect::<Vec<_>>();
    session.call("zipfs_delete", json!({"path": "gone", "recursive": true})).value();
    std::fs::create_dir(session.path.join("born")).unwrap();
    // A directory with something in it needs no entry of its own.
    session.call("zipfs_write", json!({"path": "full/deep/b.txt", "content": "2"})).value();
    session
        .call("zipfs_status", json!({}))
        .is(json!({"modified": [], "added": ["born/", "full/deep/b.txt"], "deleted": ["gone/"], "unchanged_count": 1}));
    session.call("zipfs_sync", json!({})).value();
    assert_eq!(names(), ["kept/", "full/a.txt", "born/", "full/deep/b.txt"]);
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 2}));
    // One that a deletion left empty is still there, so the archive says so from now on.
    session.call("zipfs_delete", json!({"path": "full/deep/b.txt"})).value();
    session
        .call("zipfs_status", json!({}))
        .is(json!({"modified": [], "added": ["full/deep/"], "deleted": ["full/deep/b.txt"], "unchanged_count": 1}));
    session.call("zipfs_sync", json!({})).value();
    session.call("zipfs_status", json!({})).is(json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 1}));
    assert_eq!(names(), ["kept/", "full/a.txt", "born/", "full/deep/"]);
    let again = server.open(&archive);
    assert!(["kept", "born", "full/deep"].iter().all(|name| again.path.join(name).is_dir()));
}

#[test]
fn links_are_listed_left_out_and_still_in_the_archive_after_a_sync() {
    let link = |name: &str, target: &str| Part::new(name, target).mode(0o120_777);
    let archive = Archive::new(
        "links.zip",
        &raw_zip(
            b"",
            &[link("in", "a.txt"), Part::new("a.txt", "1"), link("d/out", "/etc/passwd"), link("up", "../../../secret")],
            b"",
        ),
    );
    let server = Server::start();
    let opened = server.call("zipfs_open", json!({"path": archive.path()})).value();
    assert_eq!(opened["skipped_symlinks"], json!(["in", "d/out", "up"]));
    assert_eq!(opened["file_count"], 1);
    assert!(opened["warnings"].to_string().contains("symbolic links"), "{opened}");
    let contents = std::path::PathBuf::from(opened["workspace_path"].as_str().unwrap());
    assert_eq!(std::fs::read_dir(&contents).unwrap().count(), 1, "not even as files that hold their target");
    let before = entries(&archive);
    server.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    server.call("zipfs_status", json!({})).is(json!({"modified": ["a.txt"], "added": [], "deleted": [], "unchanged_count": 0}));
    server.call("zipfs_sync", json!({})).value();
    let after = entries(&archive);
    for index in [0, 2, 3] {
        assert_eq!(after[index], before[index]);
    }
    assert_eq!(archive.read()["a.txt"], b"changed");
    server.call("zipfs_close", json!({"sync": true})).value();
    assert_eq!(entries(&archive), after);
}

#[test]
fn the_archive_keeps_its_own_mode_and_owner() {
    let archive = Archive::of(&[("a.txt", "1")]);
    std::fs::set_permissions(archive.path(), PermissionsExt::from_mode(0o640)).unwrap();
    // Only root can give files away.
    let given = std::os::unix::fs::chown(archive.path(), Some(1234), Some(2345)).is_ok();
    let server = Server::start();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    session.call("zipfs_sync", json!({})).value();
    let found = std::fs::metadata(archive.path()).unwrap();
    assert_eq!(found.mode() & 0o7777, 0o640);
    assert!(!given || (found.uid(), found.gid()) == (1234, 2345));
    let backup = std::fs::metadata(archive.dir().join("sample.bak.zip")).unwrap();
    assert_eq!(backup.mode() & 0o7777, 0o640);
}

#[test]
fn an_archive_that_became_a_link_is_not_written_through_or_replaced() {
    let archive = Archive::of(&[("a.txt", "1")]);
    let server = Server::start();
    let session = server.open(&archive);
    session.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    let moved = archive.dir().join("moved.zip");
    std::fs::rename(archive.path(), &moved).unwrap();
    std::os::unix::fs::symlink(&moved, archive.path()).unwrap();
    let before = std::fs::read(&moved).unwrap();
    session.call("zipfs_sync", json!({})).fails("ZIP_NOT_FOUND");
    session.call("zipfs_sync", json!({"force": true})).fails("ZIP_NOT_FOUND");
    assert!(archive.path().symlink_metadata().unwrap().is_symlink());
    assert_eq!(std::fs::read(&moved).unwrap(), before);
}
