//! The new file on its way out: its bytes to whoever writes them, its hash and its lines.

use sha2::{Digest, Sha256};
use zipfs_sdk::Error;

use crate::digest::Hash;
use crate::lines::Count;

/// Who writes the new file.
pub type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + 'a;

/// Pieces are collected up to this size: each one that is passed on costs a call of the host.
const CHUNK: usize = 256 << 10;

/// Takes the new file's bytes in order.
pub struct Output<'a> {
    sink: &'a mut Sink<'a>,
    hash: Sha256,
    lines: Count,
    buffer: Vec<u8>,
    failed: Option<Error>,
}

impl<'a> Output<'a> {
    pub(super) fn new(sink: &'a mut Sink<'_>) -> Output<'a> {
        // The sink lives as long as this, whatever it borrows lives longer.
        let sink: &'a mut Sink<'a> = sink;
        Output { sink, hash: Sha256::new(), lines: Count::default(), buffer: Vec::new(), failed: None }
    }

    /// Adds bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.lines.feed(bytes);
        if self.buffer.len() + bytes.len() > CHUNK {
            self.flush();
        }
        if bytes.len() > CHUNK {
            self.pass_on(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Whether what was put so far ends inside a line.
    pub fn is_in_line(&self) -> bool {
        self.lines.is_open()
    }

    /// Whether everything could be written so far.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.failed.take().map_or(Ok(()), Err)
    }

    pub(super) fn end(mut self) -> Result<(Hash, u64), Error> {
        self.flush();
        self.check()?;
        Ok((Hash::end(self.hash), self.lines.total()))
    }

    fn flush(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.pass_on(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
    }

    fn pass_on(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        if self.failed.is_none()
            && !bytes.is_empty()
            && let Err(error) = (self.sink)(bytes)
        {
            self.failed = Some(error);
        }
    }
}
