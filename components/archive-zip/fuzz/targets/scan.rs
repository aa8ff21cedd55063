//! Bytes to a plan: whatever is let in lies within the file, without overlap, under safe names, extracts or is refused, and can be
//! written and read again as the same.
#![no_main]

#[path = "../../tests/driver/memory.rs"]
#[allow(dead_code)]
mod memory;

use libfuzzer_sys::fuzz_target;
use memory::{Files, LIMITS, packed};
use zipfs_archive_zip::contract::Limits;
use zipfs_archive_zip::extract::extract;
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

/// Little, so that much can be tried.
const SMALL: Limits = Limits { max_total_size: 1 << 20, ..LIMITS };

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = scan(bytes, &SMALL) else { return };
    let listing = directory.into_listing();
    let mut places: Vec<(u64, u64)> = listing.entries.iter().map(|entry| (entry.offset, entry.offset + entry.span)).collect();
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "entries overlap");
    assert!(places.last().is_none_or(|last| last.1 <= bytes.len() as u64), "an entry lies outside of the file");
    for entry in &listing.entries {
        assert!(entry.path.split('/').all(|part| !matches!(part, "" | "." | "..")), "{:?}", entry.path);
        assert!(!entry.path.contains('\0'));
    }
    let mut files = Files::default();
    let _ = extract(bytes, &listing.entries, &mut files);
    assert!(files.contents.values().map(Vec::len).sum::<usize>() <= 1 << 20);

    let (staged, written) = packed(Some(bytes), &[], &mut Files::default()).expect("what was let in can be written");
    let again = scan(&staged.bytes[..], &NO_LIMITS).expect("what was written can be read").into_listing();
    assert_eq!(again, written);
});
