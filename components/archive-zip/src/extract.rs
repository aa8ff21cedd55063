//! Entries to files: every byte is counted against the declared size and the checksum on its way.

mod decoder;
mod input;
mod measure;
mod unpack;
mod zstd;

use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, EntryKind, Error};
use crate::failure::{invalid, quoted};
use crate::fields::flag;
use crate::scan::LocalHeader;
use unpack::Unpacker;

/// Where files are made: the workspace, or memory in a test.
pub trait Create {
    type File;
    /// Makes a new file; that there is none yet is part of the promise. Its directory exists.
    fn create(&mut self, path: &str) -> Result<Self::File, Error>;
    /// Writes all of `bytes`.
    fn write(&mut self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<(), Error>;
    /// Sets the time of the last change, if known, and closes the file.
    fn finish(&mut self, file: Self::File, modified: Option<i64>) -> Result<(), Error>;
}

/// Extracts the files among `entries`. Directories are the host's work, and links are not extracted.
///
/// Memory stays the same whatever the archive claims: one window of the archive, one piece of a file, and a decoder's dictionary.
pub fn extract<B: Bytes + ?Sized, C: Create>(source: &B, entries: &[Entry], files: &mut C) -> Result<(), Error> {
    let mut window = Window::new(source);
    let mut unpacker = Unpacker::new();
    for entry in entries.iter().filter(|entry| entry.kind == EntryKind::File) {
        let found = find_contents(&mut window, entry)
            .map_err(|error| invalid(format!("entry {} {}", quoted(&entry.raw_name), error.message)))?;
        let file = files.create(&entry.path)?;
        let mut written = 0;
        unpacker.unpack(&mut window, found.at, entry, found.has_end_mark, |piece| {
            files.write(&file, written, piece)?;
            written += piece.len() as u64;
            Ok(())
        })?;
        files.finish(file, entry.modified)?;
    }
    Ok(())
}

/// What the header before the contents tells.
struct Found {
    at: u64,
    has_end_mark: bool,
}

/// Where the entry's contents begin. The scan saw that they lie within the entry.
fn find_contents<B: Bytes + ?Sized>(window: &mut Window<B>, entry: &Entry) -> Result<Found, Error> {
    // Small entries are fetched in one piece, so that header and contents are one read.
    if let Ok(span @ 1..) = usize::try_from(entry.span)
        && span <= crate::bytes::MAX_READ / 4
    {
        window.get(entry.offset, span)?;
    }
    let header = LocalHeader::read(window, entry.offset)?;
    let (header_len, has_end_mark) = (header.contents_at(), header.flags & flag::LZMA_END_MARK != 0);
    let needed = header_len.checked_add(entry.compressed_size);
    if needed.is_none_or(|needed| needed > entry.span) {
        return Err(invalid("is not where the listing says it is"));
    }
    Ok(Found { at: entry.offset + header_len, has_end_mark })
}
