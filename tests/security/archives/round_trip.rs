//! What was let in and changed in one place is the same in all others, byte for byte.

use serde_json::json;
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

use super::Guarded;

/// Opens, syncs without a change, adds a file, syncs, and compares. Returns whether the archive was let in.
pub fn check(guarded: &Guarded, name: &str, bytes: &[u8]) -> bool {
    if guarded.open(name, bytes).0["result"]["isError"] == json!(true) {
        return false;
    }
    let path = guarded.archive();
    let sync = || guarded.server.call("zipfs_sync", json!({})).value();
    let before = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
    let nothing = sync();
    assert_eq!(
        (&nothing["files_modified"], &nothing["files_added"], &nothing["files_deleted"]),
        (&json!(0), &json!(0), &json!(0)),
        "{name}"
    );
    assert_eq!(nothing["backup_path"], "", "{name}");
    let after = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
    assert!(before == after && std::fs::read(&path).expect("the archive") == bytes, "{name}: a sync of nothing wrote something");

    guarded.server.call("zipfs_write", json!({"path": "zipfs added this", "content": "new"})).value();
    let added = sync();
    assert_eq!(added["files_added"], 1, "{name}");
    let changed = std::fs::read(&path).expect("the archive");
    let (old, new) = (raw_entries(bytes), raw_entries(&changed));
    assert!(new.len() == old.len() + 1 && new[..old.len()] == old[..], "{name}: other entries changed");
    std::fs::remove_file(added["backup_path"].as_str().expect("a path")).expect("a backup");
    guarded.close();
    true
}

#[test]
fn one_change_leaves_everything_else_as_it_was() {
    let guarded = Guarded::start();
    let accepted = zipfs_test_archives::all().iter().filter(|case| check(&guarded, &case.name, &case.bytes)).count();
    assert!(accepted > 90, "only {accepted} archives were let in");
    guarded.check_surroundings();
}

/// Names and raw bytes of the entries, in order.
fn raw_entries(archive: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries = scan(archive, &NO_LIMITS).expect("a good archive").into_listing().entries;
    entries.into_iter().map(|entry| (entry.raw_name, archive[entry.offset as usize..][..entry.span as usize].to_vec())).collect()
}
