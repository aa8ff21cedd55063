//! What two entries can do to each other: have the same name, or be a file where the other needs a directory.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;

use super::Record;
use crate::ambiguity::Ambiguity;
use crate::contract::{EntryKind, Error};
use crate::failure::{ambiguous, quoted};
use crate::oddities::Oddities;

/// Refuses duplicates and clashes, and marks names that a filesystem may take for one.
pub fn check(records: &mut [Record]) -> Result<(), Error> {
    check_tree(records)?;
    mark_folded(records);
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
            return Err(ambiguous(
                Ambiguity::Duplicate,
                format!("entry {} is there twice, so it can have two contents", quoted(&below.raw_name)),
            ));
        }
        if rest.starts_with('/') && above.kind != EntryKind::Directory {
            let (file, inner) = (quoted(&above.raw_name), quoted(&below.raw_name));
            return Err(ambiguous(
                Ambiguity::Duplicate,
                format!("entry {file} is not a directory, and yet entry {inner} lies in it"),
            ));
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

/// Names that are the same to the letter were refused before, so equal hashes of folded names mean another spelling, and that is
/// only a warning: a collision made on purpose costs nothing.
fn mark_folded(records: &mut [Record]) {
    let mut hashes: Vec<(u64, u32)> = Vec::with_capacity(records.len());
    for (index, record) in records.iter_mut().enumerate() {
        record.oddities.remove(Oddities::FOLDED);
        hashes.push((hash(&record.entry.path), index as u32));
    }
    hashes.sort_unstable();
    for pair in hashes.windows(2) {
        let [a, b] = [pair[0].1 as usize, pair[1].1 as usize];
        if pair[0].0 == pair[1].0 && folded(&records[a].entry.path).eq(folded(&records[b].entry.path)) {
            records[b].oddities.add(Oddities::FOLDED);
        }
    }
}

/// The letters of a name as a filesystem sees them that tells neither `A` from `a` nor `é` from `e` with an accent behind it.
fn folded(path: &str) -> impl Iterator<Item = char> {
    let (plain, other) = if path.is_ascii() { (path, "") } else { ("", path) };
    plain.chars().map(|letter| letter.to_ascii_lowercase()).chain(other.nfd().flat_map(char::to_lowercase).nfd())
}

/// FNV-1a of the folded name.
fn hash(path: &str) -> u64 {
    let add = |hash: u64, letter: u64| (hash ^ letter).wrapping_mul(0x0100_0000_01b3);
    let begin = 0xcbf2_9ce4_8422_2325;
    // Most names, and for them there is no need to look for letters that fold in other ways.
    match path.is_ascii() {
        true => path.bytes().fold(begin, |hash, byte| add(hash, byte.to_ascii_lowercase().into())),
        false => folded(path).fold(begin, |hash, letter| add(hash, letter.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fold_by_case_and_by_accents() {
        let same = |a, b| folded(a).eq(folded(b));
        assert!(same("README/ä", "readme/Ä"));
        assert!(same("caf\u{e9}", "CAFE\u{301}"));
        assert!(same("\u{c5}", "\u{212b}") && same("\u{1e69}", "s\u{307}\u{323}"));
        assert_eq!(hash("README/a"), hash("readme/A"));
        assert_eq!(hash("caf\u{e9}"), hash("CAFE\u{301}"));
        assert_eq!(hash("\u{212a}"), hash("k"), "a letter beyond ASCII that folds into it");
        assert!(!same("a", "b") && !same("\u{e9}", "e") && !same("a", "\u{430}"));
    }
}
