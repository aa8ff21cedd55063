//! What an archive says of its files, on the files: times by every field that has them, and modes as far as they are let.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;
use zipfs_test_archives::made::{Part, deflated, field, stored, zip};

use crate::support::{Archive, Server};

/// 2025-01-01 12:00:00, which is what the builder writes as time of DOS.
const DOS: i64 = 1_735_732_800;
const UNIX: i64 = 1_700_000_001;
const NTFS: i64 = 1_600_000_003;

fn unix_time(seconds: i64) -> Vec<u8> {
    field(0x5455, &[&[1], &(seconds as i32).to_le_bytes()[..]].concat())
}

fn ntfs_time(seconds: i64) -> Vec<u8> {
    let ticks = ((seconds + 11_644_473_600) as u64 * 10_000_000 + 1_234_567).to_le_bytes();
    field(0x000a, &[&[0, 0, 0, 0, 1, 0, 24, 0], &ticks[..], &ticks, &ticks].concat())
}

fn timed(name: &str, extra: Vec<u8>) -> Part {
    deflated(name, "contents").both(|head| head.extra = extra.clone())
}

#[test]
fn times_are_kept_by_the_best_field_there_is() {
    let parts = [
        stored("dir/", "").both(|head| head.extra = unix_time(UNIX)),
        timed("dir/dos", Vec::new()),
        timed("dir/unix", unix_time(UNIX)),
        timed("dir/ntfs", ntfs_time(NTFS)),
        timed("dir/both", [ntfs_time(NTFS), unix_time(UNIX)].concat()),
        timed("dir/unknown", field(0xcafe, b"?")),
    ];
    let server = Server::start();
    let session = server.open(&Archive::new("times.zip", &zip(parts)));
    let time = |name: &str| std::fs::metadata(session.path.join(name)).expect("a file").mtime();
    let times = ["dir", "dir/dos", "dir/unix", "dir/ntfs", "dir/both", "dir/unknown"].map(time);
    assert_eq!(times, [UNIX, DOS, UNIX, NTFS, UNIX, DOS]);
    // Times are no changes.
    assert_eq!(session.call("zipfs_status", json!({})).value()["modified"], json!([]));
}

#[test]
fn modes_are_kept_without_what_is_dangerous() {
    let modes = [0o100_644, 0o100_755, 0o104_755, 0o102_777, 0o100_000, 0o100_666, 0o100_400];
    let parts = modes.map(|mode| stored(format!("{mode:o}"), "x").mode(mode));
    let dirs = [0o040_777, 0o041_777, 0o040_000].map(|mode| stored(format!("{mode:o}/"), "").mode(mode));
    let server = Server::start();
    let session = server.open(&Archive::new("modes.zip", &zip(parts.into_iter().chain(dirs))));
    let mode = |path: &Path| std::fs::symlink_metadata(path).expect("it is there").mode() & 0o7777;
    let files = modes.map(|name| mode(&session.path.join(format!("{name:o}"))));
    assert_eq!(files, [0o644, 0o755, 0o755, 0o755, 0o600, 0o644, 0o600].map(|mode: u32| mode));
    let dirs = ["40777", "41777", "40000"].map(|name| mode(&session.path.join(name)));
    assert_eq!(dirs, [0o755, 0o755, 0o700]);
}

#[test]
fn a_file_smaller_than_declared_is_told_of() {
    let short = deflated("short", "contents").both(|head| head.size += 1);
    let server = Server::start();
    let archive = Archive::new("short.zip", &zip([short, stored("other", "1")]));
    let opened = server.call("zipfs_open", json!({"path": archive.path()})).value();
    let warning = opened["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("smaller") && warning.contains("short"), "{warning}");
    assert_eq!(opened["extracted_size_bytes"], 9);
}

#[test]
fn what_was_extracted_before_a_refusal_is_removed() {
    // The damage is in the last of many files, so that the others are there when it is found.
    let good = (0..2000).map(|number| stored(format!("d{}/f{number}", number % 7), "contents"));
    let bad = deflated("last", "contents").both(|head| head.crc32 ^= 1);
    let server = Server::start();
    let archive = Archive::new("late.zip", &zip(good.chain([bad])));
    server.call("zipfs_open", json!({"path": archive.path()})).fails("ZIP_INVALID");
    assert_eq!(super::leftovers(server.data()), Vec::<String>::new());
    // Nor is any of it on the account.
    server.open(&Archive::of(&[("a", "1")]));
}
