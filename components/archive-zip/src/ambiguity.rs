//! The ways in which two readers of one archive can see two different archives. Each refusal for such a reason names its kind, so
//! that whoever made the archive finds what to mend. One kind is missing here: names that only some filesystems take for one (B4) are
//! a warning.
//!
//! The fourteen kinds and their numbers are those of the study of fifty parsers by You and others (ZipDiff, USENIX Security 2025).

use std::fmt;

/// What can be read in two ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ambiguity {
    /// A1: the compression method, in the header and in the directory.
    Method,
    /// A2: sizes, in header, directory, descriptor and zip64 field.
    Size,
    /// A3: names, in header, directory and Unicode field.
    Name,
    /// A4: whether it is a file, by name, mode and attributes.
    Kind,
    /// A5: whether it is encrypted.
    Encryption,
    /// B1: two entries of one name.
    Duplicate,
    /// B2: bytes that end or change a name for some.
    SpecialBytes,
    /// B3: names with several spellings.
    Spelling,
    /// C1: entries that only a reader that walks through the file sees.
    Hidden,
    /// C2: which end record counts.
    End,
    /// C3: how many entries there are.
    Count,
    /// C4: where the directory is.
    Place,
    /// C5: which zip64 end record counts.
    Zip64End,
}

impl Ambiguity {
    /// The text, with the kind behind it.
    pub fn says(self, text: impl fmt::Display) -> String {
        format!("{text} ({self})")
    }
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Self::Method => "ambiguity A1, compression method",
            Self::Size => "ambiguity A2, size",
            Self::Name => "ambiguity A3, name",
            Self::Kind => "ambiguity A4, kind of entry",
            Self::Encryption => "ambiguity A5, encryption",
            Self::Duplicate => "ambiguity B1, duplicate",
            Self::SpecialBytes => "ambiguity B2, special bytes",
            Self::Spelling => "ambiguity B3, spelling",
            Self::Hidden => "ambiguity C1, hidden entry",
            Self::End => "ambiguity C2, end record",
            Self::Count => "ambiguity C3, number of entries",
            Self::Place => "ambiguity C4, place of the directory",
            Self::Zip64End => "ambiguity C5, zip64 end record",
        })
    }
}
