//! What an archive holds, as its driver told us. No format is known here, only names, sizes and places.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    File,
    Directory,
    Symlink,
}

/// One entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the workspace.
    pub path: String,
    pub raw_name: Vec<u8>,
    pub kind: Kind,
    pub size: u64,
    pub compressed_size: u64,
    pub crc32: u32,
    pub method: u16,
    pub mode: Option<u32>,
    /// Seconds since 1970.
    pub modified: Option<i64>,
    pub offset: u64,
    pub span: u64,
}

/// A scanned archive.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub entries: Vec<Entry>,
    pub warnings: Vec<String>,
}

/// A change that the driver is asked to make to an archive. `size` is that of the file when it was looked at.
#[derive(Debug, Clone)]
pub enum Change {
    Remove(u32),
    Replace { index: u32, size: u64, modified: i64, mode: u32 },
    Add { path: String, kind: Kind, size: u64, modified: i64, mode: u32 },
}

impl Change {
    /// How much has to be read from the workspace for it.
    pub fn size(&self) -> u64 {
        match self {
            Change::Remove(_) | Change::Add { kind: Kind::Directory, .. } => 0,
            Change::Replace { size, .. } | Change::Add { size, .. } => *size,
        }
    }
}

impl Entry {
    /// Whether the archive has the same record for it, wherever it lies.
    fn is_same_record(&self, other: &Entry) -> bool {
        let facts = |entry: &Entry| (entry.size, entry.compressed_size, entry.crc32, entry.method, entry.span);
        self.raw_name == other.raw_name && facts(self) == facts(other)
    }
}

/// Whether `after` is what `before` becomes by the changes, of which the driver says that it wrote `written`: everything else must be
/// there as it was.
pub fn is_result<'a>(before: impl Iterator<Item = &'a Entry>, changes: &[Change], written: &[Entry], after: &[Entry]) -> bool {
    let fates: HashMap<u32, bool> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Remove(index) => Some((*index, false)),
            Change::Replace { index, .. } => Some((*index, true)),
            Change::Add { .. } => None,
        })
        .collect();
    let (mut written, mut after) = (written.iter(), after.iter());
    let stays = before.zip(0..).all(|(old, index)| match fates.get(&index) {
        Some(false) => true,
        Some(true) => written.next().zip(after.next()).is_some_and(|(said, found)| said == found && found.raw_name == old.raw_name),
        None => after.next().is_some_and(|found| found.is_same_record(old)),
    });
    stays && written.eq(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, crc32: u32, offset: u64) -> Entry {
        let (path, raw_name) = (name.to_owned(), name.as_bytes().to_vec());
        let (kind, size) = (Kind::File, 7);
        Entry { path, raw_name, kind, size, compressed_size: 7, crc32, method: 0, mode: None, modified: None, offset, span: 40 }
    }

    #[test]
    fn only_what_was_asked_for_may_have_changed() {
        let before = [entry("a", 1, 0), entry("b", 2, 40), entry("c", 3, 80)];
        let changes = [
            Change::Remove(0),
            Change::Replace { index: 1, size: 7, modified: 0, mode: 0 },
            Change::Add { path: "d".into(), kind: Kind::File, size: 7, modified: 0, mode: 0 },
        ];
        let written = [entry("b", 9, 0), entry("d", 4, 80)];
        let good = [entry("b", 9, 0), entry("c", 3, 40), entry("d", 4, 80)];
        let judge = |after: &[Entry]| is_result(before.iter(), &changes, &written, after);
        assert!(judge(&good));
        let [b, c, d] = good;
        assert!(!judge(&[b.clone(), d.clone()]), "one is missing");
        assert!(!judge(&[b.clone(), entry("c", 8, 40), d.clone()]), "one that was not touched has other contents");
        assert!(!judge(&[entry("b", 2, 0), c.clone(), d.clone()]), "one is not as it was written");
        assert!(!judge(&[b.clone(), c.clone(), d, entry("e", 5, 120)]), "one is too many");
        assert!(!judge(&[c, b]), "the order is another");
    }
}
