//! What an archive holds, as its driver told us. No format is known here, only names, sizes and places.

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

/// A change that the driver is asked to make to an archive.
#[derive(Debug, Clone)]
pub enum Change {
    Remove(u32),
    Replace { index: u32, modified: i64, mode: u32 },
    Add { path: String, kind: Kind, modified: i64, mode: u32 },
}
