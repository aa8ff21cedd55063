//! What two entries can do to each other: have the same name, or be a file where the other needs a directory.

use std::cmp::Ordering;

use super::Record;
use crate::contract::{EntryKind, Error};
use crate::failure::{invalid, quoted};
use crate::oddities::Oddities;

/// Refuses duplicates and clashes, and marks names that only differ in case.
pub fn check(records: &mut [Record]) -> Result<(), Error> {
    check_tree(records)?;
    mark_other_case(records);
    Ok(())
}

/// In the order of a tree walk an entry is followed at once by what lies beneath it, so neighbours are all there is to compare.
/// Sorting, not hashing: nobody can make it slow, and it needs no random seed.
fn check_tree(records: &[Record]) -> Result<(), Error> {
    let mut walk: Vec<&Record> = records.iter().collect();
    walk.sort_by(|a, b| tree_order(a.entry.path.as_bytes(), b.entry.path.as_bytes()));
    for pair in walk.windows(2) {
        let (above, below) = (&pair[0].entry, &pair[1].entry);
        let Some(rest) = below.path.strip_prefix(&above.path) else { continue };
        if rest.is_empty() {
            return Err(invalid(format!("entry {} is there twice, so it can have two contents", quoted(&below.raw_name))));
        }
        if rest.starts_with('/') && above.kind != EntryKind::Directory {
            let (file, inner) = (quoted(&above.raw_name), quoted(&below.raw_name));
            return Err(invalid(format!("entry {file} is not a directory, and yet entry {inner} lies in it")));
        }
    }
    Ok(())
}

/// Byte order, with `/` before everything else.
fn tree_order(a: &[u8], b: &[u8]) -> Ordering {
    const BLOCK: usize = 32;
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    // Names in deep directories are the same for a long way; whole blocks are compared faster than bytes.
    let same = BLOCK * a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK)).take_while(|(a, b)| a == b).count();
    match a[same..].iter().zip(&b[same..]).find(|(a, b)| a != b) {
        Some((&a, &b)) => rank(a).cmp(&rank(b)),
        None => a.len().cmp(&b.len()),
    }
}

/// Equal names in equal case were refused before, so equal hashes of folded names mean another case, and that is only a warning:
/// a collision made on purpose costs nothing.
fn mark_other_case(records: &mut [Record]) {
    let mut folded: Vec<(u64, u32)> = Vec::with_capacity(records.len());
    for (index, record) in records.iter_mut().enumerate() {
        record.oddities.remove(Oddities::OTHER_CASE);
        folded.push((folded_hash(&record.entry.path), index as u32));
    }
    folded.sort_unstable();
    for pair in folded.windows(2) {
        let [a, b] = [pair[0].1 as usize, pair[1].1 as usize];
        if pair[0].0 == pair[1].0 && records[a].entry.path.to_lowercase() == records[b].entry.path.to_lowercase() {
            records[b].oddities.add(Oddities::OTHER_CASE);
        }
    }
}

/// FNV-1a over the lower-case name.
fn folded_hash(path: &str) -> u64 {
    let step = |hash: u64, unit: u32| (hash ^ u64::from(unit)).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    if path.is_ascii() {
        path.bytes().fold(start, |hash, byte| step(hash, u32::from(byte.to_ascii_lowercase())))
    } else {
        path.to_lowercase().chars().fold(start, |hash, letter| step(hash, letter as u32))
    }
}
