//! Where things are: end records, directories, headers that disagree, entries that overlap or hide.

use super::{Case, INVALID, Verdict, add as put, between, opens, plain, refused, warns};
use crate::made::{Made, Part, archive, deflated, field, stored, zip, zip64};

pub fn add(cases: &mut Vec<Case>) {
    good(cases);
    ends(cases);
    directories(cases);
    zip64_ends(cases);
    headers(cases);
    sizes(cases);
    places(cases);
    truncated(cases);
}

fn good(cases: &mut Vec<Case>) {
    opens(cases, "empty", archive([]));
    opens(cases, "one file", archive([plain()]));
    opens(cases, "deflated", archive([deflated("a", "some text, some text, some text")]));
    opens(cases, "nested archive", archive([stored("nested.zip", zip([stored("../inner", "x")])), plain()]));
    opens(cases, "archive comment", archive([plain()]).with(|made| made.comment = b"a comment".to_vec()));
    opens(cases, "comment of full length", archive([plain()]).with(|made| made.comment = vec![b'c'; 65_535]));
    opens(cases, "entry comment", archive([plain().with(|part| part.comment = b"PK\x03\x04 is only a comment".to_vec())]));
    opens(cases, "zip64", archive([plain()]).with(|made| made.is_zip64 = true));
    opens(cases, "zip64 sizes", between(widened(plain())));
    for (has_signature, is_wide) in [(false, false), (true, false), (false, true), (true, true)] {
        let name = format!("descriptor, signature {has_signature}, wide {is_wide}");
        opens(cases, name, between(deflated("a", "contents").streamed(has_signature, is_wide)));
    }
    for is_shifted in [false, true] {
        let stub =
            archive([plain()]).with(|made| (made.prefix, made.is_shifted) = (b"#!/bin/sh\nexec unzip\n".to_vec(), is_shifted));
        warns(cases, format!("self-extractor, shifted {is_shifted}"), stub, "before the first entry");
    }
    warns(
        cases,
        "gap before the directory",
        archive([plain()]).with(|made| made.before_directory = vec![0; 99]),
        "99 bytes between",
    );
    let last_hidden = archive([plain(), stored("hidden", "x").with(|part| part.listed = false)]);
    warns(cases, "unlisted entry at the end", last_hidden, "not in the directory");
    // The same numbers by a signed directory, as some firms make them.
    let signature = [b"PK\x05\x05\x04\x00".to_vec(), vec![7; 4]].concat();
    opens(cases, "signed directory", archive([plain()]).with(|made| made.before_end = signature.clone()));
}

fn ends(cases: &mut Vec<Case>) {
    let inner = zip([stored("inner", "")]);
    put(cases, "nothing", Vec::new(), Verdict::Refused(INVALID, "no end record"));
    put(cases, "zeros", vec![0; 100_000], Verdict::Refused(INVALID, "no end record"));
    put(cases, "text", b"this is not an archive".repeat(100), Verdict::Refused(INVALID, "no end record"));
    let trailing = |len| archive([plain()]).with(|made| made.behind = vec![0; len]);
    refused(cases, "one trailing byte", trailing(1), INVALID, "C2");
    refused(cases, "trailing garbage", trailing(5000), INVALID, "C2");
    let commented = |comment: &[u8]| archive([plain()]).with(|made| made.comment = comment.to_vec());
    refused(cases, "comment that is an archive", commented(&inner), INVALID, "C2");
    refused(cases, "comment that holds an end record", commented(&[&inner[..], b"."].concat()), INVALID, "C2");
    refused(cases, "end record in the gap", archive([plain()]).with(|made| made.before_directory = zip([])), INVALID, "C2");
    put(cases, "two archives", [zip([plain()]), inner].concat(), Verdict::Refused(INVALID, "C1"));
    refused(cases, "second disk", archive([plain()]).with(|made| made.disk = 1), INVALID, "one part of several");
    refused(cases, "entry of a second disk", between(plain().with(|part| part.disk = 1)), INVALID, "another part");
}

fn directories(cases: &mut Vec<Case>) {
    let two = || archive([plain(), stored("b", "")]);
    let mut bad = |name: &str, change: fn(&mut Made), says| refused(cases, name, two().with(change), INVALID, says);
    bad("one entry counted less", |made| made.count = Some(1), "C3");
    bad("one entry counted more", |made| made.count = Some(3), "C3");
    bad("no entry counted", |made| made.count = Some(0), "C3");
    bad("directory behind the end", |made| made.directory_at = Some(u32::MAX), "C4");
    bad("directory longer than the file", |made| made.directory_len = Some(u32::MAX), "C4");
    bad("directory shorter by one", |made| made.directory_len = Some(93), "C4");
    bad("directory nowhere", |made| (made.directory_at, made.directory_len) = (Some(5), Some(93)), "C4");
    bad("bytes behind the directory", |made| made.before_end = vec![7; 9], "C4");
    // 65,537 entries, of which a reader of the 16-bit count sees one.
    let many = (0..65_537).map(|number| stored(number.to_string(), ""));
    refused(cases, "count modulo 65,536", archive(many), INVALID, "C3");
    let prefix = zip([stored("evil", "x")])[31..].to_vec();
    let at = find(&prefix, b"PK\x01\x02") as u32;
    let rival =
        archive([plain()]).with(|made| (made.prefix, made.is_shifted, made.directory_at) = (prefix.clone(), true, Some(at)));
    refused(cases, "two directories", rival, INVALID, "C4");
}

fn zip64_ends(cases: &mut Vec<Case>) {
    let good = || archive([plain()]).with(|made| made.is_zip64 = true).bytes();
    let mut bad = |name: &str, change: &dyn Fn(&mut Vec<u8>), says| {
        let mut bytes = good();
        change(&mut bytes);
        put(cases, name, bytes, Verdict::Refused(INVALID, says));
    };
    bad("zip64: end records contradict", &|bytes| patch(bytes, -22 + 8, 7), "C5");
    bad("zip64: locator leads nowhere", &|bytes| patch(bytes, -42 + 8, 0xff), "C5");
    bad("zip64: locator of many disks", &|bytes| patch(bytes, -42 + 16, 2), "one part of several");
    bad("zip64: extensible end record", &|bytes| patch(bytes, -98 + 4, 60), "C5");
    bad("zip64: offset near 2^64", &|bytes| (0..8).for_each(|at| patch(bytes, -98 + 48 + at, 0xff)), "C4");
    bad("zip64: length near 2^64", &|bytes| (0..8).for_each(|at| patch(bytes, -98 + 40 + at, 0xff)), "C4");
    bad("zip64: count near 2^64", &|bytes| (0..16).for_each(|at| patch(bytes, -98 + 24 + at, 0xff)), "C3");
    bad("zip64: locator at 2^64", &|bytes| (0..8).for_each(|at| patch(bytes, -42 + 8 + at, 0xff)), "C5");
    let mut other = good()[good().len() - 98..][..56].to_vec();
    other[32] = 2;
    let rivals = archive([plain()]).with(|made| (made.is_zip64, made.before_locator) = (true, other.clone()));
    refused(cases, "zip64: two end records", rivals, INVALID, "C5");
}

fn headers(cases: &mut Vec<Case>) {
    let mut bad = |name: &str, part: Part, says| refused(cases, name, between(part), INVALID, says);
    bad("other name at the contents", plain().local(|head| head.name = b"b".to_vec()), "A3");
    bad("harmless name at the contents", stored("b", "").central(|head| head.name = b"a".to_vec()), "A3");
    bad("other method at the contents", plain().local(|head| head.method = 8), "A1");
    bad("other method in the directory", plain().central(|head| head.method = 8), "A1");
    bad("other checksum at the contents", plain().local(|head| head.crc32 ^= 1), "A2");
    bad("other size at the contents", plain().local(|head| head.size += 1), "A2");
    bad("other compressed size at the contents", plain().local(|head| head.compressed_size -= 1), "A2");
    bad("encrypted at the contents", plain().local(|head| head.flags |= 1), "A5");
    bad("UTF-8 at the contents only", stored("ä", "").local(|head| head.flags |= 1 << 11), "A3");
    bad("offset into the contents", plain().with(|part| part.offset = Some(37)), "no header");
    bad("offset behind the directory", plain().with(|part| part.offset = Some(1 << 30)), "behind the directory");
    let streamed = || plain().streamed(true, false);
    bad("descriptor with another checksum", streamed().with(|part| part.trailer[4] ^= 1), "A2");
    bad("descriptor cut off", streamed().with(|part| part.trailer.truncate(15)), "A2");
    bad("descriptor missing", streamed().with(|part| part.trailer.clear()), "A2");
    bad("descriptor and other sizes", streamed().local(|head| head.size = 1), "A2");
    bad("extra field overruns", plain().both(|head| head.extra = vec![0xaa, 0, 9, 0]), "longer than the header");
}

fn sizes(cases: &mut Vec<Case>) {
    let mut bad = |name: &str, part: Part, says| refused(cases, name, between(part), INVALID, says);
    bad("stored in two sizes", plain().both(|head| head.size += 1), "A2");
    bad("zip64 contradicts", plain().both(|head| head.extra = zip64(&[9])), "A2");
    bad("zip64 too short", plain().both(|head| (head.size, head.extra) = (u32::MAX, field(1, &[1, 2, 3]))), "A2");
    let two = [zip64(&[8]), zip64(&[9])].concat();
    bad("zip64 twice", plain().both(|head| (head.size, head.extra) = (u32::MAX, two.clone())), "A2");
    bad("zip64 in the directory only", plain().central(|head| (head.size, head.extra) = (u32::MAX, zip64(&[9]))), "A2");
    bad("wrong checksum", plain().both(|head| head.crc32 ^= 1), "checksum is wrong");
    let short = deflated("a", "contents").both(|head| (head.size, head.crc32) = (9, head.crc32 ^ 1));
    bad("smaller than declared, wrong checksum", short, "checksum is wrong");
    bad("a little larger than declared", deflated("a", [b'x'; 50]).both(|head| head.size -= 1), "declares 49");
    bad(
        "contents cut off",
        deflated("a", "some contents").both(|head| head.compressed_size -= 3).with(|part| part.data.truncate(12)),
        "",
    );
    bad("contents of garbage", deflated("a", "contents").with(|part| part.data.fill(0xff)), "damaged");
}

fn places(cases: &mut Vec<Case>) {
    let twin = plain().with(|part| (part.present, part.offset) = (false, Some(0))).central(|head| head.name = b"b".to_vec());
    refused(cases, "two entries, one place", archive([plain(), twin]), INVALID, "overlaps");
    // As in the bomb of Fifield: the contents of the first entry contain the header of the second.
    let inner = zip([deflated("b", "some contents")]);
    let quoting = stored("a", &inner[..find(&inner, b"PK\x01\x02")]);
    let quoted = deflated("b", "some contents").with(|part| (part.present, part.offset) = (false, Some(31)));
    refused(cases, "entry quoted by another", archive([quoting, quoted]), INVALID, "overlaps");
    let long = plain().both(|head| (head.size, head.compressed_size) = (1000, 1000));
    refused(cases, "contents reach into the directory", archive([long]), INVALID, "overlaps");
    let hidden = || stored("hidden", "x").with(|part| part.listed = false);
    refused(cases, "hidden between", archive([plain(), hidden(), stored("b", "")]), INVALID, "C1");
    refused(cases, "hidden before", archive([hidden(), plain()]), INVALID, "C1");
}

fn truncated(cases: &mut Vec<Case>) {
    let parts = || [plain(), deflated("d/text", b"some text, some text").streamed(true, false), stored("d/", "")];
    for (kind, whole) in
        [("plain", archive(parts()).bytes()), ("zip64", archive(parts()).with(|made| made.is_zip64 = true).bytes())]
    {
        for tenth in 0..10 {
            let cut = whole[..whole.len() * tenth / 10].to_vec();
            put(cases, format!("{kind} archive cut at {tenth}0 %"), cut, Verdict::Refused(INVALID, ""));
        }
    }
}

/// The same sizes, moved into a zip64 field.
fn widened(part: Part) -> Part {
    part.both(|head| {
        head.extra = zip64(&[u64::from(head.size), u64::from(head.compressed_size)]);
        (head.size, head.compressed_size) = (u32::MAX, u32::MAX);
    })
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).expect("it is there")
}

/// Sets one byte, counted from the end.
fn patch(bytes: &mut [u8], from_end: i64, value: u8) {
    let at = (bytes.len() as i64 + from_end) as usize;
    bytes[at] = value;
}
