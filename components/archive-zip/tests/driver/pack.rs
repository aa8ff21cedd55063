//! Changed archives: what did not change keeps its bytes, what is new can be read by others, and the listing tells the truth.

use std::io::{Cursor, Read};

use proptest::prelude::*;
use zipfs_archive_zip::contract::{Change, EntryKind, Listing, NewEntry, ReplacementEntry};
use zipfs_archive_zip::extract::extract;
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

use crate::memory::{Files, LATER, Staged, listing, open, packed, packed_into};
use zipfs_test_archives::made::{Made, archive, deflated, field, stored, zip};

fn add(path: &str) -> Change {
    Change::Add(NewEntry { path: path.into(), kind: EntryKind::File, modified: 1_700_000_001, mode: 0o640, contents: LATER })
}

fn add_directory(path: &str) -> Change {
    Change::Add(NewEntry { path: path.into(), kind: EntryKind::Directory, modified: 1_700_000_001, mode: 0o755, contents: LATER })
}

fn replace(index: u32) -> Change {
    Change::Replace(ReplacementEntry { index, modified: 1_700_000_003, mode: 0o755, contents: LATER })
}

/// What a fresh scan of the bytes gives; extraction must work too.
#[track_caller]
fn rescanned(bytes: &[u8]) -> (Listing, Files) {
    let listing = scan(bytes, &NO_LIMITS).unwrap().into_listing();
    let mut files = Files::default();
    extract(bytes, &listing.entries, &mut files).unwrap();
    (listing, files)
}

/// What the other implementation reads.
fn by_zip_crate(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let count = archive.len();
    let read = |index| {
        let mut file = archive.by_index(index).unwrap();
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).unwrap();
        (file.name().unwrap().into_owned(), contents)
    };
    (0..count).map(read).collect()
}

/// Bytes that do not compress, the same every time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn sample() -> Made {
    archive([
        stored("mimetype", "application/epub+zip"),
        deflated("text", "old old old old").streamed(true, false),
        deflated(b"b\x81", "named by DOS").with(|part| (part.made_by, part.comment) = (20, b"a comment".to_vec())),
        deflated("c", "third").both(|head| head.extra = field(0x5455, &[1, 9, 9, 9, 9])),
        stored("link", "mimetype").mode(0o120_777),
        deflated("z", "last").mode(0o100_644),
    ])
    .with(|made| made.comment = b"archive comment".to_vec())
}

#[test]
fn nothing_changed_is_the_same_bytes() {
    let made = [
        sample(),
        sample().with(|made| made.prefix = b"#!stub".to_vec()),
        sample().with(|made| (made.prefix, made.is_shifted) = (b"#!stub".to_vec(), true)),
        archive([]),
        archive([]).with(|made| made.prefix = b"only a stub".to_vec()),
    ];
    for made in made {
        let bytes = made.bytes();
        let (staged, written) = packed(Some(&bytes), &[], &mut Files::default()).unwrap();
        assert_eq!(staged.bytes, bytes);
        assert_eq!(written, listing(&bytes).unwrap());
    }
}

#[test]
fn untouched_entries_keep_their_bytes_and_are_copied_in_few_ranges() {
    let bytes = sample().with(|made| made.prefix = b"stub".to_vec()).bytes();
    let before = listing(&bytes).unwrap().entries;
    let mut files = Files::of(&[("text", b"new"), ("added", b"added added added added")]);
    let (staged, written) = packed(Some(&bytes), &[replace(1), Change::Remove(3), add("added")], &mut files).unwrap();

    // Prefix and first entry are one range, the third stands alone between two changes, the last two are one.
    assert_eq!(staged.ranges.len(), 3, "{:?}", staged.ranges);
    let names: Vec<&str> = written.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(names, ["mimetype", "text", "bü", "link", "z", "added"]);
    for (old, new) in [(0, 0), (2, 2), (4, 3), (5, 4)] {
        let (old, new) = (&before[old], &written.entries[new]);
        let range = |offset: u64, span: u64| offset as usize..(offset + span) as usize;
        assert_eq!(bytes[range(old.offset, old.span)], staged.bytes[range(new.offset, new.span)]);
    }
    assert!(staged.bytes.ends_with(b"archive comment"));
    assert!(staged.bytes.windows(9).any(|window| window == b"a comment"));
    let (scanned, extracted) = rescanned(&staged.bytes);
    assert_eq!(scanned, written);
    assert_eq!(extracted.contents["text"], b"new");
    assert_eq!(extracted.contents["added"], b"added added added added");
}

#[test]
fn new_contents_keep_method_name_comment_and_what_else_stays_true() {
    let owner = field(0x7875, &[1, 4, 1, 0, 0, 0, 4, 1, 0, 0, 0]);
    let extra = [field(0x5455, &[1, 9, 9, 9, 9]), owner.clone()].concat();
    let made = archive([
        stored("mimetype", "x"),
        deflated(b"b\x81", "x").with(|part| (part.made_by, part.comment, part.attributes) = (20, b"note".to_vec(), 0x20)),
        deflated("ö", "x").both(|head| (head.flags, head.extra) = (1 << 11, extra.clone())).mode(0o100_600),
    ]);
    let bytes = made.bytes();
    let mut files = Files::of(&[("mimetype", &[b'm'; 500]), ("bü", &[b'b'; 500]), ("ö", &[b'o'; 500])]);
    let (staged, written) = packed(Some(&bytes), &[replace(0), replace(1), replace(2)], &mut files).unwrap();
    assert_eq!(rescanned(&staged.bytes).0, written);

    let [mimetype, dos, unix] = &written.entries[..] else { panic!("{written:?}") };
    assert_eq!((mimetype.method, mimetype.compressed_size, mimetype.mode), (0, 500, Some(0o755)));
    // No extra field where there was none: header, name, contents.
    assert_eq!(mimetype.span, 30 + 8 + 500);
    assert_eq!(mimetype.modified, Some(1_700_000_002), "DOS knows even seconds only");
    assert_eq!((dos.method, dos.mode, dos.raw_name.as_slice()), (8, None, &b"b\x81"[..]));
    assert!(staged.bytes.windows(4).any(|window| window == b"note"));
    assert_eq!((unix.method, unix.mode, unix.modified), (8, Some(0o755), Some(1_700_000_003)));
    assert_eq!(staged.bytes.windows(owner.len()).filter(|window| *window == owner).count(), 2);
    let read = by_zip_crate(&staged.bytes);
    assert_eq!(read[2], ("ö".to_owned(), vec![b'o'; 500]));
}

#[test]
fn an_archive_from_nothing_is_read_by_others() {
    let noise = noise(3000);
    let mut files = Files::of(&[("d/text", &[b't'; 5000]), ("empty", b""), ("ü", b"x"), ("noise", &noise)]);
    let changes = [add_directory("d"), add("d/text"), add("empty"), add("ü"), add("noise")];
    let (staged, written) = packed(None, &changes, &mut files).unwrap();
    assert_eq!(rescanned(&staged.bytes).0, written);
    assert_eq!(rescanned(&staged.bytes).1.contents, files.contents);
    let methods: Vec<u16> = written.entries.iter().map(|entry| entry.method).collect();
    assert_eq!(methods, [0, 8, 0, 0, 0]);
    assert!(written.entries.iter().all(|entry| entry.modified == Some(1_700_000_001)));
    assert_eq!((written.entries[0].kind, written.entries[0].mode), (EntryKind::Directory, Some(0o755)));
    assert_eq!(written.entries[1].mode, Some(0o640));
    let read = by_zip_crate(&staged.bytes);
    assert_eq!(read[0].0, "d/");
    assert_eq!(read[1], ("d/text".to_owned(), vec![b't'; 5000]));
    assert_eq!(read[3].0, "ü");
    assert_eq!(packed(None, &changes, &mut files).unwrap().0.bytes, staged.bytes, "the same every time");
}

#[test]
fn large_files_are_streamed() {
    let text: Vec<u8> = (0..9_000_000u32).map(|i| b"abcdefgh\n"[(i / 7 % 9) as usize]).collect();
    let noise = noise(5_000_000);
    let mut files = Files::of(&[("text", &text), ("noise", &noise), ("kept stored", &text)]);
    let source = zip([stored("kept stored", "x")]);
    let (staged, written) = packed(Some(&source), &[replace(0), add("text"), add("noise")], &mut files).unwrap();
    let [stored, text, noise] = &written.entries[..] else { panic!("{written:?}") };
    assert_eq!((stored.method, text.method, noise.method), (0, 8, 0));
    assert!(text.compressed_size < 1_000_000);
    let (scanned, extracted) = rescanned(&staged.bytes);
    assert_eq!(scanned, written);
    assert!(extracted.contents == files.contents);
    assert!(by_zip_crate(&staged.bytes).into_iter().all(|(name, contents)| files.contents[&name] == contents));
}

#[test]
fn a_link_is_written_as_what_it_says() {
    let mut files = Files::of(&[("l", b"docs/a.txt")]);
    let link = Change::Add(NewEntry { path: "l".into(), kind: EntryKind::Symlink, modified: 7, mode: 0o600, contents: LATER });
    let (staged, written) = packed(None, &[link], &mut files).unwrap();
    let entry = &written.entries[0];
    assert_eq!((entry.kind, entry.mode, entry.size, entry.method), (EntryKind::Symlink, Some(0o777), 10, 0));
    assert_eq!(rescanned(&staged.bytes).0, written);
    let mut archive = zip::ZipArchive::new(Cursor::new(&staged.bytes[..])).unwrap();
    let mut read = archive.by_index(0).unwrap();
    let mut said = String::new();
    assert!(read.is_symlink());
    std::io::Read::read_to_string(&mut read, &mut said).unwrap();
    assert_eq!(said, "docs/a.txt");
}

#[test]
fn times_beyond_32_bits_survive() {
    let new = |modified| {
        Change::Add(NewEntry { path: format!("t{modified}"), kind: EntryKind::Directory, modified, mode: 0o755, contents: LATER })
    };
    for modified in [-1, 0, 4_000_000_000, 1 << 35] {
        let (staged, written) = packed(None, &[new(modified)], &mut Files::default()).unwrap();
        assert_eq!(written.entries[0].modified, Some(modified));
        assert_eq!(rescanned(&staged.bytes).0, written);
    }
    for modified in [i64::MIN, i64::MAX] {
        let (staged, written) = packed(None, &[new(modified)], &mut Files::default()).unwrap();
        assert_eq!(rescanned(&staged.bytes).0, written);
    }
}

#[test]
fn more_than_65535_entries_take_zip64_and_come_back() {
    let changes: Vec<Change> = (0..65_536).map(|number| add_directory(&format!("d{number}"))).collect();
    let (staged, written) = packed(None, &changes, &mut Files::default()).unwrap();
    assert_eq!(written.entries.len(), 65_536);
    assert_eq!(rescanned(&staged.bytes).0, written);
    assert_eq!(zip::ZipArchive::new(Cursor::new(&staged.bytes[..])).unwrap().len(), 65_536);
    // One less and it is a plain archive again.
    let (less, _) = packed(Some(&staged.bytes), &[Change::Remove(0), Change::Remove(1)], &mut Files::default()).unwrap();
    assert!(!less.bytes.windows(4).any(|window| window == b"PK\x06\x06"));
    assert_eq!(rescanned(&less.bytes).0.entries.len(), 65_534);
}

#[test]
fn spare_zip64_numbers_stay_right_when_an_entry_moves() {
    let all = |offset: u64| field(1, &[5u64.to_le_bytes(), 5u64.to_le_bytes(), offset.to_le_bytes()].concat());
    let wide = stored("b", "12345").central(|head| (head.size, head.compressed_size, head.extra) = (u32::MAX, u32::MAX, all(32)));
    let replaced = wide.clone().central(|head| head.extra = all(32)).with(|part| part.offset = Some(u32::MAX));
    for wide in [wide, replaced] {
        let bytes = zip([stored("a", "1"), wide]);
        let (staged, written) = packed(Some(&bytes), &[Change::Remove(0)], &mut Files::default()).unwrap();
        assert_eq!(rescanned(&staged.bytes).0, written);
        assert_eq!(written.entries[0].offset, 0);
    }
}

#[test]
fn bytes_that_belong_to_nothing_are_left_out() {
    let bytes = zip([stored("a", "1").with(|part| part.trailer = vec![0; 100]), stored("b", "2")]);
    let (staged, written) = packed(Some(&bytes), &[], &mut Files::default()).unwrap();
    assert_eq!(staged.bytes.len(), bytes.len() - 100);
    assert_eq!(written.warnings, Vec::<String>::new());
    assert_eq!(rescanned(&staged.bytes).0, written);
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let bytes = zip([stored("a", "1"), stored("d/", "")]);
    let mut files = Files::of(&[("a", b""), ("../x", b""), ("n", b""), ("d", b""), ("./y", b""), ("l\n", b"")]);
    let refused: [&[Change]; 10] = [
        &[Change::Remove(2)],
        &[Change::Remove(0), Change::Remove(0)],
        &[Change::Remove(0), replace(0)],
        &[replace(1)],
        &[add("a")],
        &[add("d")],
        &[add("a/b")],
        &[add("../x")],
        &[add("./y")],
        &[add("l\n")],
    ];
    for changes in refused {
        assert!(packed(Some(&bytes), changes, &mut files).is_err(), "{changes:?}");
    }
    assert_eq!(packed(Some(&bytes), &[add("gone")], &mut files).err().unwrap().code, "SYNC_FAILED");
    // A directory may become a file, if it goes first.
    packed(Some(&bytes), &[Change::Remove(1), add("d")], &mut files).unwrap();
}

#[test]
fn a_full_disk_is_an_error() {
    let mut files = Files::of(&[("a", &[7; 100])]);
    let staged = Staged { room: Some(50), ..Staged::default() };
    let error = packed_into(staged, None, &[add("a")], &mut files).err().unwrap();
    assert_eq!(error.code, "SYNC_FAILED");
    assert!(error.message.contains("no space left"), "{}", error.message);
}

/// A few names that can clash in interesting ways, but do not.
fn name(number: usize) -> String {
    ["a", "b", "dir/x", "dir/y", "dir.x", "ü", "A", "back\\slash", "con", "long/er/path"][number % 10].to_owned()
        + &"_".repeat(number / 10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_changes_leave_an_archive_that_scans_as_listed(
        old in proptest::collection::vec((any::<bool>(), 0u8..3, proptest::collection::vec(any::<u8>(), 0..200)), 0..12),
        fates in proptest::collection::vec(0u8..4, 12),
        new in proptest::collection::vec((any::<bool>(), proptest::collection::vec(0u8..4, 0..3000), any::<i64>(), any::<u32>()), 0..6),
        prefix in proptest::collection::vec(any::<u8>(), 0..20),
        is_shifted: bool,
        is_zip64: bool,
    ) {
        let parts = old.iter().enumerate().map(|(number, (is_deflated, form, contents))| {
            let part = if *is_deflated { deflated(name(number), contents) } else { stored(name(number), contents) };
            match form { 0 => part, 1 => part.streamed(true, false), _ => part.streamed(false, true) }
        });
        let made = archive(parts).with(|made| {
            (made.prefix, made.is_shifted, made.is_zip64) = (prefix.clone(), is_shifted, is_zip64);
        });
        let bytes = made.bytes();
        prop_assume!(scan(&bytes[..], &NO_LIMITS).is_ok());
        let before = scan(&bytes[..], &NO_LIMITS).unwrap().into_listing();
        let mut files = rescanned(&bytes).1;

        let mut changes = Vec::new();
        for (index, fate) in fates.iter().take(old.len()).enumerate() {
            let path = &before.entries[index].path;
            match fate {
                0 => {
                    changes.push(Change::Remove(index as u32));
                    files.contents.remove(path);
                }
                1 => {
                    changes.push(replace(index as u32));
                    files.contents.insert(path.clone(), format!("new contents of {path}").into_bytes());
                }
                _ => {}
            }
        }
        for (number, (is_directory, contents, modified, mode)) in new.iter().enumerate() {
            let path = format!("new {number}");
            let kind = if *is_directory { EntryKind::Directory } else { EntryKind::File };
            if !is_directory {
                files.contents.insert(path.clone(), contents.clone());
            }
            changes.push(Change::Add(NewEntry { path, kind, modified: *modified, mode: *mode, contents: LATER }));
        }

        let (staged, written) = packed(Some(&bytes), &changes, &mut files).unwrap();
        let (scanned, extracted) = rescanned(&staged.bytes);
        prop_assert_eq!(&scanned, &written);
        prop_assert_eq!(&extracted.contents, &files.contents);
        prop_assert_eq!(by_zip_crate(&staged.bytes).len(), written.entries.len());
        for old in &before.entries {
            let touched = changes.iter().any(|change| match change {
                Change::Remove(index) => before.entries[*index as usize].path == old.path,
                Change::Replace(with) => before.entries[with.index as usize].path == old.path,
                Change::Add(_) => false,
            });
            if !touched {
                let new = written.entries.iter().find(|new| new.path == old.path).unwrap();
                let range = |offset: u64, span: u64| offset as usize..(offset + span) as usize;
                prop_assert_eq!(&bytes[range(old.offset, old.span)], &staged.bytes[range(new.offset, new.span)]);
            }
        }
        // Packing once more without changes changes nothing.
        let (again, _) = packed(Some(&staged.bytes), &[], &mut files).unwrap();
        prop_assert!(again.bytes == staged.bytes);
    }
}

#[test]
fn the_sample_of_this_page_opens() {
    open(&sample().bytes()).unwrap();
}
