//! What is let pass with a warning: remembered per entry while scanning, told in one line per kind.

use crate::failure::quoted;
use crate::scan::Record;

/// Things about one entry that readers may see differently without harm. A set of the constants below.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Oddities(u8);

impl Oddities {
    pub const BACKSLASH: Self = Self(1);
    pub const WINDOWS_NAME: Self = Self(2);
    pub const STALE_UNICODE_NAME: Self = Self(4);
    pub const FOLDED: Self = Self(8);
    pub const DESCRIPTOR: Self = Self(16);
    pub const SECOND_ZIP64: Self = Self(32);

    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Ambiguity B4. On such a filesystem the second of them cannot be extracted, and the archive is refused then.
const FOLDED_NAME: &str = "a name that some filesystems take for that of another, since they differ only in letter case or in how accents \
                           are encoded (ambiguity B4, letter case)";

/// Things about the archive as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Layout {
    /// Bytes before the first entry: a self-extractor's program, or anything else.
    pub prefix: u64,
    /// Bytes between entries, or between them and the directory, that belong to nothing.
    pub gaps: u64,
    /// An entry after the last one listed, which the directory does not know.
    pub unlisted: bool,
    /// Bytes between the zip64 end record and its locator.
    pub end_gap: bool,
}

/// The warnings: at most one per kind, so that a hostile archive cannot write a book.
pub fn warnings(layout: &Layout, records: &[Record]) -> Vec<String> {
    let mut warnings = Vec::new();
    if layout.prefix > 0 {
        warnings.push(format!("{} bytes before the first entry belong to no entry; they are kept", layout.prefix));
    }
    if layout.gaps > 0 {
        warnings.push(format!("{} bytes between entries belong to no entry; a changed archive will not have them", layout.gaps));
    }
    if layout.unlisted {
        warnings.push("an entry behind the last one is not in the directory; it is ignored".into());
    }
    if layout.end_gap {
        warnings.push("the zip64 end record is not where some programs look for it".into());
    }
    for (oddity, what) in [
        (Oddities::BACKSLASH, "a backslash in the name, which is kept as a part of the name and separates nothing"),
        (Oddities::WINDOWS_NAME, "a name that Windows reserves"),
        (Oddities::STALE_UNICODE_NAME, "a Unicode name made for another name, which is ignored"),
        (Oddities::FOLDED, FOLDED_NAME),
        (Oddities::DESCRIPTOR, "other sizes behind its contents than in the directory, which is right"),
        (Oddities::SECOND_ZIP64, "a second zip64 field, which is ignored"),
    ] {
        let mut odd = records.iter().filter(|record| record.oddities.has(oddity));
        if let Some(first) = odd.next() {
            let name = quoted(first.entry.path.as_bytes());
            warnings.push(match odd.count() {
                0 => format!("entry {name} has {what}"),
                more => format!("entry {name} and {more} more have {what}"),
            });
        }
    }
    warnings
}
