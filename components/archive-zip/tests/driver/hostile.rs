//! Archives that must be refused: each breaks one rule, and the message must say which.

use zipfs_archive_zip::contract::{Error, ErrorClass, Limits};
use zipfs_archive_zip::scan::scan;

use crate::memory::{LIMITS, listing, open};
use zipfs_test_archives::made::{Made, Part, archive, deflated, field, stored, unicode_name, zip};

#[track_caller]
fn refused(archive: &[u8], code: &str, says: &str) {
    let error = open(archive).expect_err("it was let in");
    assert_eq!(error.code, code, "{}", error.message);
    assert!(error.message.contains(says), "{:?} does not say {says:?}", error.message);
}

#[track_caller]
fn invalid(made: Made, says: &str) {
    refused(&made.bytes(), "ZIP_INVALID", says);
}

#[track_caller]
fn invalid_part(part: Part, says: &str) {
    invalid(archive([stored("first", "1"), part, stored("last", "3")]), says);
}

fn a() -> Part {
    stored("a", "contents")
}

#[test]
fn the_archives_of_this_page_are_good_without_their_lies() {
    for part in [a(), deflated("a", "contents"), a().streamed(true, false)] {
        open(&zip([stored("first", "1"), part, stored("last", "3")])).unwrap();
    }
}

#[test]
fn end_records() {
    refused(b"", "ZIP_INVALID", "no end record");
    refused(&[0; 100_000], "ZIP_INVALID", "no end record");
    invalid(archive([a()]).with(|made| made.behind = vec![0]), "does not end where the file ends");
    let nested = zip([stored("inner", "")]);
    invalid(archive([a()]).with(|made| made.comment = nested.clone()), "two end records");
    let longer = [&nested[..], b"."].concat();
    invalid(archive([a()]).with(|made| made.comment = longer.clone()), "comment contains an end record");
    invalid(archive([a()]).with(|made| made.before_directory = zip([])), "second end record");
    let concatenated = [zip([a()]), zip([stored("b", "")])].concat();
    refused(&concatenated, "ZIP_INVALID", "before the first one that the directory does not list");
    invalid(archive([a()]).with(|made| made.disk = 1), "one part of several");
}

#[test]
fn directories() {
    let one = || archive([a(), stored("b", "")]);
    invalid(one().with(|made| made.count = Some(1)), "larger than its entries");
    invalid(one().with(|made| made.count = Some(3)), "too short for the number");
    invalid(one().with(|made| made.directory_at = Some(u32::MAX)), "does not fit");
    invalid(one().with(|made| made.directory_len = Some(u32::MAX)), "does not fit");
    invalid(one().with(|made| made.directory_len = Some(95)), "does not fit");
    invalid(one().with(|made| made.directory_len = Some(93)), "between the directory and the end record");
    invalid(one().with(|made| (made.directory_at, made.directory_len) = (Some(5), Some(93))), "there is no directory where");
    invalid(archive([a().with(|part| part.comment = b"PK\x05\x06".to_vec())]).with(|made| made.directory_len = Some(48)), "");
    invalid(one().with(|made| made.before_end = vec![7; 9]), "between the directory and the end record");
    invalid(archive([]).with(|made| made.before_end = vec![0; 50]).with(|made| made.directory_len = Some(50)), "is not empty");
    // 65,537 entries of which a 16-bit count sees one.
    let many = (0..65_537).map(|number| stored(number.to_string(), ""));
    refused(&zip(many), "ZIP_INVALID", "larger than its entries");
    // The same offset read twice: once as it is, once behind a prefix that looks like another directory.
    let prefix = zip([stored("evil", "x")]);
    let directory = prefix.windows(4).position(|window| window == b"PK\x01\x02").unwrap() as u32;
    let two = archive([a()]).with(|made| made.prefix = prefix[31..].to_vec());
    let two = two.with(|made| (made.is_shifted, made.directory_at) = (true, Some(directory - 31)));
    invalid(two, "two directories");
}

#[test]
fn zip64_end_records() {
    let made = || archive([a()]).with(|made| made.is_zip64 = true);
    open(&made().bytes()).unwrap();
    let mut contradicting = made().bytes();
    let end = contradicting.len() - 22;
    contradicting[end + 8] = 7;
    refused(&contradicting, "ZIP_INVALID", "contradict each other");
    let mut lost = made().bytes();
    let locator = lost.len() - 42;
    lost[locator + 8] ^= 0xff;
    refused(&lost, "ZIP_INVALID", "not where the archive says");
    let mut extended = made().bytes();
    let record = extended.windows(4).position(|window| window == b"PK\x06\x06").unwrap();
    extended[record + 4] = 60;
    refused(&extended, "ZIP_INVALID", "unknown kind");
    // A second record where other readers look first.
    let mut other = extended[record..record + 56].to_vec();
    other[4] = 44;
    other[32] = 2;
    invalid(made().with(|made| made.before_locator = other.clone()), "two different zip64 end records");
    let parts = made().bytes();
    let mut several = parts.clone();
    several[parts.len() - 42 + 16] = 2;
    refused(&several, "ZIP_INVALID", "one part of several");
}

#[test]
fn headers_that_disagree() {
    invalid_part(a().local(|head| head.name = b"b".to_vec()), "another name");
    invalid_part(a().local(|head| head.method = 8), "another compression method");
    invalid_part(a().local(|head| head.crc32 ^= 1), "other sizes or another checksum");
    invalid_part(a().local(|head| head.size += 1), "other sizes or another checksum");
    invalid_part(a().local(|head| head.compressed_size -= 1), "other sizes or another checksum");
    invalid_part(a().local(|head| head.flags |= 1), "encrypted at its contents");
    invalid_part(stored("ä", "").local(|head| head.flags |= 1 << 11), "UTF-8 by one of its flags");
    invalid_part(a().local(|head| head.extra = unicode_name(b"a", "b")), "another Unicode name");
    invalid_part(a().with(|part| part.offset = Some(37)), "no header");
    invalid_part(a().with(|part| part.offset = Some(1 << 30)), "behind the directory");
    invalid_part(a().with(|part| part.disk = 1), "another part");
}

#[test]
fn encryption_and_methods() {
    invalid_part(a().both(|head| head.flags |= 1), "encrypted");
    invalid_part(a().both(|head| head.flags |= 1 << 6), "encrypted");
    invalid_part(a().both(|head| head.flags |= 1 << 13), "encrypted");
    invalid_part(a().both(|head| head.method = 99), "encrypted");
    invalid_part(a().both(|head| head.extra = field(0x9901, &[0; 7])), "encrypted");
    invalid_part(a().both(|head| head.flags |= 1 << 5), "patch");
    for method in [1, 6, 10, 94, 98] {
        invalid_part(a().both(|head| head.method = method), &format!("method {method}"));
    }
}

#[test]
fn sizes_that_can_be_read_in_two_ways() {
    invalid_part(a().both(|head| head.size += 1), "has two sizes");
    invalid_part(a().both(|head| head.extra = field(1, &9u64.to_le_bytes())), "contradict");
    invalid_part(a().both(|head| head.size = u32::MAX).both(|head| head.extra = field(1, &[1, 2, 3])), "too short");
    let two = [field(1, &8u64.to_le_bytes()), field(1, &9u64.to_le_bytes())].concat();
    invalid_part(a().both(|head| head.size = u32::MAX).both(|head| head.extra = two.clone()), "two different zip64");
    invalid_part(a().both(|head| head.extra = vec![1, 0, 9, 0]), "longer than the header");
    invalid_part(a().local(|head| head.extra = vec![0xaa, 0, 9, 0]), "longer than the header");
    invalid_part(stored("d/", "x"), "directory and yet has contents");
}

#[test]
fn descriptors() {
    let streamed = || a().streamed(true, false);
    invalid_part(streamed().with(|part| part.trailer[4] ^= 1), "behind its contents");
    invalid_part(streamed().with(|part| part.trailer.truncate(15)), "behind its contents");
    invalid_part(streamed().with(|part| part.trailer.clear()), "behind its contents");
    invalid_part(a().streamed(false, false).with(|part| part.trailer[4] ^= 1), "behind its contents");
    invalid_part(streamed().local(|head| head.size = 1), "other sizes");
}

#[test]
fn entries_that_share_bytes() {
    let twin = a().with(|part| (part.present, part.offset) = (false, Some(0))).both(|head| head.name = b"b".to_vec());
    invalid(archive([a(), twin]), "overlaps");
    // Fifield's construction: the contents of the first entry contain the header of the second.
    let inner = zip([deflated("b", "some contents")]);
    let header = &inner[..inner.windows(4).position(|window| window == b"PK\x01\x02").unwrap()];
    let quoting = stored("a", header);
    let quoted = deflated("b", "some contents").with(|part| (part.present, part.offset) = (false, Some(31)));
    invalid(archive([quoting, quoted]), "overlaps");
    invalid(archive([a().both(|head| (head.size, head.compressed_size) = (1000, 1000))]), "overlaps");
}

#[test]
fn entries_that_the_directory_does_not_list() {
    let hidden = || stored("hidden", "x").with(|part| part.listed = false);
    invalid(archive([a(), hidden(), stored("b", "")]), "does not list");
    invalid(archive([hidden(), a()]), "does not list");
    let behind = listing(&zip([a(), hidden()])).unwrap();
    assert!(behind.warnings.iter().any(|warning| warning.contains("not in the directory")), "{:?}", behind.warnings);
}

#[test]
fn names_that_clash() {
    let pair = |a: &str, b: &str| archive([stored(a, ""), stored("between", ""), stored(b, "")]);
    invalid(pair("a", "a"), "there twice");
    invalid(pair("d/", "d/"), "there twice");
    invalid(pair("a", "./a"), "there twice");
    invalid(pair("d/", "d"), "there twice");
    invalid(pair("a", "a/b"), "is not a directory");
    invalid(pair("a/b/c", "a"), "is not a directory");
    let between = [stored("a", ""), stored("a-b", ""), stored("a.b", ""), stored("a/b", "")];
    invalid(archive(between), "is not a directory");
    open(&pair("a/b", "a-b").bytes()).unwrap();
    let twins = stored("\u{e9}", "").both(|head| head.extra = unicode_name("\u{e9}".as_bytes(), "x"));
    invalid(archive([twins, stored("x", "")]), "there twice");
    invalid(archive([stored("link", "t").mode(0o120_777), stored("link/x", "")]), "is not a directory");
}

#[test]
fn names_that_lead_outside() {
    for name in ["../x", "a/../../x", "/etc/passwd", "..\\x", "C:\\x", "a\0b", "\\x", "x\n"] {
        refused(&zip([stored("fine", ""), stored(name, "")]), "PATH_TRAVERSAL", "");
        assert_eq!(listing(&zip([stored(name, "")])).unwrap_err().class, ErrorClass::Forbidden);
    }
    for name in ["", "a//b", "a/./b"] {
        refused(&zip([stored(name, "")]), "ZIP_INVALID", "");
    }
    refused(&zip([stored("x".repeat(256), "")]), "ZIP_INVALID", "255 bytes");
    refused(&zip([stored(b"\xff", "").both(|head| head.flags |= 1 << 11)]), "ZIP_INVALID", "marked as UTF-8");
}

#[test]
fn kinds_that_contradict_or_are_not_files() {
    invalid_part(a().mode(0o020_644), "device");
    invalid_part(a().mode(0o060_644), "device");
    invalid_part(a().mode(0o140_644), "socket");
    invalid_part(a().mode(0o040_755), "directory by its mode");
    invalid_part(stored("d/", "").mode(0o120_777), "link by its mode");
}

fn limited(archive: &[u8], limits: Limits) -> Error {
    let error = scan(archive, &limits).expect_err("it was let in");
    assert_eq!((error.code.as_str(), error.class), ("ZIP_BOMB_DETECTED", ErrorClass::Limit));
    error
}

#[test]
fn too_many_entries() {
    let three = zip([stored("a", ""), stored("b/", ""), stored("c", "")]);
    assert!(scan(&three[..], &Limits { max_entries: 3, ..LIMITS }).is_ok());
    let error = limited(&three, Limits { max_entries: 2, ..LIMITS });
    assert!(error.message.contains("3 entries") && error.message.contains("security.max_file_count"), "{}", error.message);
    // Counted before anything is read: this directory is garbage.
    let garbage = vec![0; 46 * 100_001];
    let claim = archive([]).with(|made| {
        (made.is_zip64, made.directory_len, made.before_end) = (true, Some(garbage.len() as u32), garbage.clone());
    });
    limited(&bytes_claiming(claim, 100_001), LIMITS);
}

#[test]
fn too_many_bytes() {
    let two = zip([stored("a", [0; 600]), stored("b", [0; 600])]);
    assert!(scan(&two[..], &Limits { max_total_size: 1200, ..LIMITS }).is_ok());
    let error = limited(&two, Limits { max_total_size: 1199, ..LIMITS });
    assert!(error.message.contains("1200") && error.message.contains("security.max_extracted_size_bytes"), "{}", error.message);
    // Sizes near 2^64 must not wrap around to something small.
    let huge = |name: &str| {
        let extra = field(1, &[(u64::MAX - 5).to_le_bytes(), (1u64 << 62).to_le_bytes()].concat());
        deflated(name, "x").both(|head| (head.size, head.compressed_size, head.extra) = (u32::MAX, u32::MAX, extra.clone()))
    };
    limited(&zip([huge("a"), huge("b")]), LIMITS);
}

#[test]
fn too_much_growth() {
    let zeros = zip([deflated("zeros", vec![0; 100_000])]);
    let error = limited(&zeros, LIMITS);
    assert!(error.message.contains("100:1") && error.message.contains("security.max_compression_ratio"), "{}", error.message);
    assert!(scan(&zeros[..], &Limits { ratio_min_size: 100_001, ..LIMITS }).is_ok());
    assert!(scan(&zeros[..], &Limits { max_ratio: 2000, ..LIMITS }).is_ok());
    limited(&zip([deflated("a", "x").both(|head| head.compressed_size = 0)]), LIMITS);
}

#[test]
fn a_deep_tree_of_many_names_is_judged_quickly() {
    let deep = |last: usize| format!("{}/{last}", vec!["d"; 250].join("/"));
    let parts: Vec<Part> = (0..20_000).map(|last| stored(deep(last), "")).collect();
    let archive = zip(parts);
    let start = std::time::Instant::now();
    assert_eq!(listing(&archive).unwrap().entries.len(), 20_000);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// The archive with its zip64 end record claiming this many entries.
fn bytes_claiming(made: Made, count: u64) -> Vec<u8> {
    let mut bytes = made.bytes();
    let record = bytes.windows(4).position(|window| window == b"PK\x06\x06").unwrap();
    for at in [24, 32] {
        bytes[record + at..record + at + 8].copy_from_slice(&count.to_le_bytes());
    }
    bytes
}
