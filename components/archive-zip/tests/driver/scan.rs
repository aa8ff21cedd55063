//! Archives that must be let in: what is in the listing, and what is warned of.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zipfs_archive_zip::contract::{EntryKind, Listing};

use crate::memory::{listing, open};
use zipfs_test_archives::made::{archive, deflated, field, stored, zip};

#[track_caller]
fn warned(archive: &[u8], says: &str) -> Listing {
    let listing = listing(archive).unwrap();
    assert_eq!(listing.warnings.len(), 1, "{:?}", listing.warnings);
    assert!(listing.warnings[0].contains(says), "{:?}", listing.warnings);
    open(archive).unwrap();
    listing
}

#[test]
fn an_empty_archive_has_nothing() {
    assert_eq!(listing(&zip([])).unwrap(), Listing { entries: vec![], warnings: vec![] });
    assert_eq!(zip([]).len(), 22);
}

#[test]
fn a_listing_says_what_another_writer_wrote() {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let time = zip::DateTime::from_date_and_time(2024, 2, 29, 12, 30, 58).unwrap();
    let options = SimpleFileOptions::default().last_modified_time(time);
    writer.add_directory("dir", options.unix_permissions(0o750)).unwrap();
    writer.start_file("dir/ü.txt", options.unix_permissions(0o640)).unwrap();
    writer.write_all(&b"text ".repeat(100)).unwrap();
    writer.start_file("raw", options.compression_method(zip::CompressionMethod::Stored)).unwrap();
    writer.write_all(b"raw").unwrap();
    writer.add_symlink("link", "dir/ü.txt", options).unwrap();
    writer.set_comment("hello").unwrap();
    let bytes = writer.finish().unwrap().into_inner();

    let listing = listing(&bytes).unwrap();
    assert_eq!(listing.warnings, Vec::<String>::new());
    let [dir, text, raw, link] = &listing.entries[..] else { panic!("{listing:?}") };
    assert_eq!((dir.path.as_str(), dir.kind, dir.mode), ("dir", EntryKind::Directory, Some(0o750)));
    assert_eq!((text.path.as_str(), text.kind, text.mode), ("dir/ü.txt", EntryKind::File, Some(0o640)));
    assert_eq!((text.size, text.method, text.raw_name.as_slice()), (500, 8, "dir/ü.txt".as_bytes()));
    assert_eq!(text.crc32, crc32fast::hash(&b"text ".repeat(100)));
    assert_eq!(text.modified, Some(1_709_209_858));
    assert_eq!((raw.size, raw.compressed_size, raw.method), (3, 3, 0));
    assert_eq!((link.path.as_str(), link.kind), ("link", EntryKind::Symlink));
    // Records follow each other without a gap, up to the directory.
    let mut at = 0;
    for entry in &listing.entries {
        assert_eq!(entry.offset, at);
        at += entry.span;
    }
    assert!(bytes[at as usize..].starts_with(b"PK\x01\x02"));
}

#[test]
fn descriptors_of_all_four_forms_belong_to_their_entry() {
    for (has_signature, is_wide, len) in [(false, false, 12), (true, false, 16), (false, true, 20), (true, true, 24)] {
        let bytes = zip([deflated("a", "contents").streamed(has_signature, is_wide), stored("b", "")]);
        let entries = listing(&bytes).unwrap().entries;
        assert_eq!(entries[0].span, 30 + 1 + entries[0].compressed_size + len);
        assert_eq!(open(&bytes).unwrap().contents["a"], b"contents");
    }
    // A descriptor that could be two forms is the one that fills its place.
    let empty = stored("a", "").streamed(false, true);
    assert_eq!(listing(&zip([empty, stored("b", "")])).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn a_prefix_is_found_by_either_way_of_counting() {
    for is_shifted in [false, true] {
        for is_zip64 in [false, true] {
            let made = archive([stored("a", "1"), deflated("b", "2")]).with(|made| {
                made.prefix = b"#!/bin/sh\nexec unzip PK\x03\x04\n".to_vec();
                (made.is_shifted, made.is_zip64) = (is_shifted, is_zip64);
            });
            let listing = warned(&made.bytes(), "before the first entry");
            assert_eq!(listing.entries[0].offset, made.prefix.len() as u64);
        }
    }
}

#[test]
fn what_is_odd_and_harmless_is_warned_of() {
    warned(&archive([stored("a", "")]).with(|made| made.before_directory = vec![0; 9]).bytes(), "9 bytes between entries");
    warned(&zip([stored("a", "").with(|part| part.trailer = vec![1; 5]), stored("b", "")]), "5 bytes between entries");
    warned(&zip([stored("a\\b", "")]), "backslash");
    warned(&zip([stored("aux.txt", "")]), "Windows");
    warned(&zip([stored("Ä/readme", ""), stored("ä/README", "")]), "letter case");
    let stale = field(0x7075, &[1, 0, 0, 0, 0, b'x']);
    warned(&zip([stored("a", "").both(|head| head.extra = stale.clone())]), "Unicode name");
    warned(&zip([deflated("a", "12345").streamed(true, false).with(|part| part.trailer[8] ^= 1)]), "other sizes behind");
    let twice = [field(1, &5u64.to_le_bytes()), field(1, &6u64.to_le_bytes())].concat();
    let second = stored("a", "12345").local(|head| (head.size, head.extra) = (u32::MAX, twice.clone()));
    warned(&zip([second]), "second zip64");
    let gap = archive([stored("a", "")]).with(|made| (made.is_zip64, made.before_locator) = (true, vec![0; 7]));
    warned(&gap.bytes(), "zip64 end record");
}

#[test]
fn warnings_are_one_per_kind() {
    let many = zip((0..1000).map(|number| stored(format!("a\\{number}"), "")));
    warned(&many, "and 999 more");
}

#[test]
fn zip64_numbers_are_read_where_they_are() {
    let wide = [5u64.to_le_bytes(), 5u64.to_le_bytes()].concat();
    let part = stored("a", "12345").both(|head| {
        (head.size, head.compressed_size, head.extra) = (u32::MAX, u32::MAX, field(1, &wide));
    });
    let all = [5u64.to_le_bytes(), 5u64.to_le_bytes(), 0u64.to_le_bytes()].concat();
    let spare = part.clone().central(|head| head.extra = field(1, &all));
    for part in [part, spare] {
        assert_eq!(open(&zip([part])).unwrap().contents["a"], b"12345");
    }
}

#[test]
fn a_nested_archive_at_the_end_is_only_contents() {
    let inner = zip([stored("inner", "x")]);
    let bytes = zip([stored("a", ""), stored("nested.zip", &inner)]);
    assert_eq!(listing(&bytes).unwrap().warnings, Vec::<String>::new());
    assert_eq!(open(&bytes).unwrap().contents["nested.zip"], inner);
}

#[test]
fn entries_may_lie_in_another_order_than_they_are_listed() {
    let mut made = archive([stored("a", "1"), stored("b", "2")]);
    let (first, second) = (made.parts[0].clone(), made.parts[1].clone());
    let len = 31 + 1;
    made.parts = vec![
        second.clone().with(|part| part.listed = false),
        first.clone().with(|part| part.listed = false),
        first.with(|part| (part.present, part.offset) = (false, Some(len))),
        second.with(|part| (part.present, part.offset) = (false, Some(0))),
    ];
    let listing = listing(&made.bytes()).unwrap();
    assert_eq!(listing.entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(open(&made.bytes()).unwrap().contents["b"], b"2");
}
