//! What archives ask for: too many bytes, too much growth, more than they declare.

use super::{BOMB, Case, INVALID, Verdict, add as put, archive, between, opens, plain, refused};
use crate::made::{Part, deflate, deflated, stored, zip64};

pub fn add(cases: &mut Vec<Case>) {
    let zeros = vec![0; 1 << 20];
    refused(cases, "a megabyte of zeros", between(deflated("zeros", &zeros)), BOMB, "security.max_compression_ratio");
    refused(
        cases,
        "growth from nothing",
        between(plain().both(|head| (head.method, head.compressed_size) = (8, 0)).with(|part| part.data.clear())),
        BOMB,
        "max_compression_ratio",
    );
    let claims = |name: &str, size: u64, compressed: u64| {
        deflated(name, "x").both(|head| {
            (head.size, head.compressed_size, head.extra) = (u32::MAX, u32::MAX, zip64(&[size, compressed]));
        })
    };
    refused(cases, "two gigabytes claimed", archive([claims("a", 2 << 30, 1 << 30)]), BOMB, "max_extracted_size_bytes");
    refused(
        cases,
        "sizes that add up to nothing",
        archive([claims("a", u64::MAX, 1 << 62), claims("b", 1, 1)]),
        BOMB,
        "max_extracted_size_bytes",
    );
    refused(cases, "2^64 - 1 bytes from one", archive([claims("a", u64::MAX, 1)]), BOMB, "max_compression_ratio");
    refused(cases, "compressed size near 2^64", archive([claims("a", 1000, u64::MAX - 3)]), INVALID, "overlaps");

    let lying = |size: u32| between(grows(size));
    refused(cases, "larger than declared by half", lying(2000), BOMB, "larger than the 2000 bytes");
    refused(cases, "something where nothing is declared", lying(0), BOMB, "larger than the 0 bytes");
    refused(cases, "a hundred times larger than declared", lying(30), BOMB, "larger than the 30 bytes");
    // Empty blocks without end: much to read and nothing to write.
    let nothing = [0u8, 0, 0, 0xff, 0xff].repeat(100_000);
    let unending = deflated("a", "").with(|part| part.data = nothing.clone()).both(|head| head.compressed_size = 500_000);
    refused(cases, "an unending stream of nothing", between(unending), INVALID, "cut off");

    // What looks like a bomb and is only a file.
    let nested = crate::made::zip([deflated("zeros", &zeros)]);
    opens(cases, "a bomb in an archive in the archive", archive([stored("bomb.zip", &nested)]));
    let tail = [deflate(b"contents"), b"tail".to_vec()].concat();
    let tailed = deflated("a", "contents").both(|head| head.compressed_size += 4).with(|part| part.data = tail.clone());
    opens(cases, "bytes behind the compressed stream", between(tailed));
    many_directories(cases);
}

/// 3,000 bytes that compress a little, said to be `size`.
fn grows(size: u32) -> Part {
    let contents: Vec<u8> = (0..3000u32).map(|number| ((number * number) >> 5) as u8 & 0x3f).collect();
    deflated("a", contents).both(|head| head.size = size)
}

/// Few entries that need many directories: 600 files, each under 200 directories of its own.
fn many_directories(cases: &mut Vec<Case>) {
    let deep = |number: usize| format!("{number}/{}/f", vec!["d"; 199].join("/"));
    let bytes = archive((0..600).map(|number| stored(deep(number), ""))).bytes();
    put(cases, "a hundred thousand directories", bytes, Verdict::Refused(BOMB, "max_file_count"));
}
