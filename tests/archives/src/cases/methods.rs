//! Compression methods: those that are read, by what other programs wrote, and those that are refused.

use super::{BOMB, Case, INVALID, Verdict, add as put, archive, between, opens, plain, refused};
use crate::fixtures::{ARCHIVES, LZMA, XZ, ZSTD, text};
use crate::made::{Part, stored};

pub fn add(cases: &mut Vec<Case>) {
    for (name, bytes) in ARCHIVES {
        put(cases, name, bytes.to_vec(), Verdict::Opens);
    }
    for (name, method, data) in [("zstd", 93, ZSTD), ("xz", 95, XZ), ("LZMA without an end mark", 14, LZMA)] {
        opens(cases, name, between(text(method, data)));
        let cut = text(method, &data[..data.len() / 2]);
        refused(cases, format!("{name}, cut off"), between(cut), INVALID, "damaged");
        let mut broken = data.to_vec();
        broken[data.len() / 2..].iter_mut().take(40).for_each(|byte| *byte ^= 0x55);
        refused(cases, format!("{name}, damaged"), between(text(method, &broken)), INVALID, "damaged");
        let smaller = text(method, data).both(|head| head.size = 30_000);
        let code = if method == 14 { INVALID } else { BOMB };
        refused(cases, format!("{name}, larger than declared"), between(smaller), code, "");
    }
    let skippable = [&b"\x50\x2a\x4d\x18\x05\0\0\0notes"[..], ZSTD].concat();
    opens(cases, "zstd behind a frame to skip", between(text(93, &skippable)));
    dictionaries(cases);
    for method in [1, 2, 3, 4, 5, 6, 7, 10, 18, 19, 20, 94, 96, 97, 98, 255, 65_535] {
        let unknown = plain().both(|head| head.method = method);
        refused(cases, format!("method {method}"), between(unknown), INVALID, "which is not supported");
    }
    refused(cases, "nothing by every method", archive([9, 12, 14, 93, 95].map(nothing)), INVALID, "damaged");
}

/// A dictionary of 4 GiB, which no file here needs, and which nobody shall allocate.
fn dictionaries(cases: &mut Vec<Case>) {
    let mut lzma = LZMA.to_vec();
    lzma[5..9].fill(0xff);
    refused(cases, "LZMA with a dictionary of 4 GiB", between(text(14, &lzma)), BOMB, "dictionary");
    let mut xz = XZ.to_vec();
    // The block header: size, flags, filter, length of its properties, dictionary; padding; checksum.
    xz[16] = 40;
    let checksum = crc32fast::hash(&xz[12..20]).to_le_bytes();
    xz[20..24].copy_from_slice(&checksum);
    refused(cases, "xz with a dictionary of 4 GiB", between(text(95, &xz)), BOMB, "dictionary");
    // A frame without a single segment, whose window is 2^41 bytes; then the same as the size of a single segment.
    let windowed = [&b"\x28\xb5\x2f\xfd\x00\xf8"[..], &ZSTD[6..]].concat();
    refused(cases, "zstd with a window of 2 TiB", between(text(93, &windowed)), BOMB, "dictionary");
    let segment = [&b"\x28\xb5\x2f\xfd\xe0"[..], &(1u64 << 40).to_le_bytes(), &ZSTD[6..]].concat();
    refused(cases, "zstd with a segment of 1 TiB", between(text(93, &segment)), BOMB, "dictionary");
}

/// No data at all, said to be by this method.
fn nothing(method: u16) -> Part {
    stored(method.to_string(), "").both(|head| head.method = method)
}
