//! An open file: reads and writes at places, no cursor.

use super::{Result, Timestamp, system};

/// The most that one WASI read returns. Asking for more at once gains nothing.
const CHUNK: usize = 64 * 1024;

/// The most that is reserved before anything was read, so that a wish for "all" costs no memory on a small file.
const MAX_RESERVE: usize = 8 * 1024 * 1024;

/// A handle to an open file.
#[derive(Debug)]
pub struct File(pub(super) system::File);

impl File {
    /// Its size in bytes.
    pub fn size(&self) -> Result<u64> {
        self.0.size()
    }

    /// Reads `len` bytes from `offset` on; fewer only if the file ends before.
    pub fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = self.read_chunk(offset, len)?;
        if bytes.is_empty() || bytes.len() >= len {
            return Ok(bytes);
        }
        bytes.reserve(len.saturating_sub(bytes.len()).min(MAX_RESERVE));
        while bytes.len() < len {
            let chunk = self.read_chunk(offset + bytes.len() as u64, len - bytes.len())?;
            if chunk.is_empty() {
                break;
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Reads at most `len` bytes and at most 64 KiB, in one step. Empty at the end of the file. For working through a large
    /// file without holding it.
    pub fn read_chunk(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        if len == 0 {
            return Ok(Vec::new());
        }
        self.0.read(offset, len.min(CHUNK))
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_at(&self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let written = self.0.write(offset, bytes)?;
            if written == 0 {
                return Err(super::IoError::NoSpace);
            }
            offset += written as u64;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Cuts the file off, or fills it up with zeros.
    pub fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }

    /// Sets when the contents last changed.
    pub fn set_modified(&self, modified: Timestamp) -> Result<()> {
        self.0.set_modified(modified)
    }
}
