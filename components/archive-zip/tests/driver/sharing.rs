//! Where blocks can be shared, what is kept stays where it was, modulo a block: what is replaced is padded.

use proptest::prelude::*;
use zipfs_archive_zip::contract::{Change, Entry, Listing, ReplacementEntry};

use crate::memory::{Files, LATER, Staged, listing, packed_into};
use zipfs_test_archives::made::{archive, stored};

const BLOCK: u64 = 4096;
/// Large enough to be worth it.
const LARGE: usize = 3 << 20;

/// An archive of small entries with a large one behind each.
fn bytes(small: &[(&str, usize)]) -> Vec<u8> {
    let large = vec![7; LARGE];
    let parts = small
        .iter()
        .enumerate()
        .flat_map(|(number, (name, len))| [stored(*name, vec![b'a'; *len]), stored(format!("large-{number}"), large.clone())]);
    archive(parts).bytes()
}

/// The archive with other contents for the entry of that number, written where blocks can be shared.
fn replaced(bytes: &[u8], index: u32, contents: &[u8]) -> (Vec<u8>, Listing) {
    let path = listing(bytes).unwrap().entries[index as usize].path.clone();
    let mut files = Files::of(&[(path.as_str(), contents)]);
    let change = Change::Replace(ReplacementEntry { index, modified: 0, mode: 0o644, contents: LATER });
    let staged = Staged { block_size: BLOCK as u32, ..Staged::default() };
    let (staged, listing) = packed_into(staged, Some(bytes), &[change], &mut files).unwrap();
    (staged.bytes, listing)
}

/// Whether the entries from that number on lie as they did, modulo a block.
fn lie_alike(before: &[Entry], after: &[Entry], from: usize) -> bool {
    before.iter().zip(after).skip(from).all(|(before, after)| before.offset % BLOCK == after.offset % BLOCK)
}

#[test]
fn what_is_behind_a_replaced_entry_keeps_its_place_in_a_block() {
    let bytes = bytes(&[("first", 10), ("note", 100), ("last", 10)]);
    let before = listing(&bytes).unwrap().entries;
    for (index, contents) in [(2, &[b'x'; 5000][..]), (2, b""), (2, &[b'x'; 99]), (0, &[b'x'; 20]), (4, &[b'x'; 20])] {
        let (_, after) = replaced(&bytes, index, contents);
        assert!(lie_alike(&before, &after.entries, index as usize + 1), "{index} {}", contents.len());
        let written = after.entries[index as usize].span + before[index as usize].size - before[index as usize].span;
        assert!(written < contents.len() as u64 + BLOCK + 10, "{written} for {}", contents.len());
    }
}

#[test]
fn padding_goes_when_its_entry_changes_again() {
    let mut now = bytes(&[("first", 10), ("note", 100)]);
    let before = listing(&now).unwrap().entries;
    for round in 0..20 {
        let (next, after) = replaced(&now, 2, &vec![b'x'; 100 + round * 7]);
        assert!(lie_alike(&before, &after.entries, 3));
        assert!(after.entries[2].span < before[2].span + 2 * BLOCK, "round {round}: {}", after.entries[2].span);
        now = next;
    }
}

#[test]
fn the_first_entry_of_an_epub_gets_no_padding() {
    let bytes = bytes(&[("mimetype", 20), ("note", 100)]);
    let (_, after) = replaced(&bytes, 0, b"application/epub+zip+");
    assert_eq!(after.entries[0].span, 30 + 8 + 21);
}

#[test]
fn little_that_is_kept_is_not_worth_padding() {
    let bytes = archive([stored("a", "a"), stored("b", "b")]).bytes();
    let (_, after) = replaced(&bytes, 0, b"longer");
    assert_eq!(after.entries[0].span, 30 + 1 + 6);
}

#[test]
fn others_read_what_is_padded() {
    let bytes = bytes(&[("note", 100)]);
    let (after, _) = replaced(&bytes, 0, &[b'x'; 300]);
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("padded");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("padded.zip");
    std::fs::write(&path, &after).unwrap();
    for (program, arguments) in [("unzip", &["-tqq"][..]), ("7z", &["t", "-bd"]), ("python3", &["-m", "zipfile", "-t"])] {
        match std::process::Command::new(program).args(arguments).arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{program}: {output:?}"),
            Err(_) => eprintln!("SKIPPED others_read_what_is_padded in part: there is no {program}"),
        }
    }
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(after)).unwrap();
    assert_eq!(zip.by_name("note").unwrap().size(), 300);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_length_finds_its_padding(before in 0usize..9000, after in 0usize..9000) {
        let bytes = bytes(&[("first", 10), ("note", before)]);
        let entries = listing(&bytes).unwrap().entries;
        let (_, found) = replaced(&bytes, 2, &vec![b'x'; after]);
        prop_assert!(lie_alike(&entries, &found.entries, 3));
    }
}
