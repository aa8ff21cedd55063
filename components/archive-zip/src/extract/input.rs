//! The compressed bytes of one entry, as the decoders of other people want to read them.

use std::io::{self, BufRead, Read};

use crate::bytes::{Bytes, Window};

/// The bytes from `at` to `end`, and not one behind them.
pub struct Input<'w, 'a, B: Bytes + ?Sized> {
    window: &'w mut Window<'a, B>,
    at: u64,
    end: u64,
}

impl<'w, 'a, B: Bytes + ?Sized> Input<'w, 'a, B> {
    pub fn new(window: &'w mut Window<'a, B>, at: u64, len: u64) -> Self {
        Self { window, at, end: at.saturating_add(len) }
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.end
    }

    /// Leaves out up to `len` bytes.
    pub fn skip(&mut self, len: u64) {
        self.at = self.at.saturating_add(len).min(self.end);
    }
}

impl<B: Bytes + ?Sized> BufRead for Input<'_, '_, B> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.is_empty() {
            return Ok(&[]);
        }
        self.window.some(self.at, self.end - self.at).map_err(|error| io::Error::other(error.message))
    }

    fn consume(&mut self, used: usize) {
        self.skip(used as u64);
    }
}

impl<B: Bytes + ?Sized> Read for Input<'_, '_, B> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let held = self.fill_buf()?;
        let len = held.len().min(room.len());
        room[..len].copy_from_slice(&held[..len]);
        self.consume(len);
        Ok(len)
    }
}
