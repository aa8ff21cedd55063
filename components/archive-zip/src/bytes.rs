//! Where an archive's bytes come from, and a window that turns many small reads into few large ones.

use crate::contract::Error;
use crate::failure::invalid;

/// An archive to read: the host's `source`, or bytes in memory.
pub trait Bytes {
    /// Its size in bytes.
    fn size(&self) -> u64;
    /// Reads up to `len` bytes at `offset`; fewer only at the end, and never more than [`MAX_READ`].
    fn read(&self, offset: u64, len: u32) -> Vec<u8>;
}

/// The most that one call to the host returns.
pub const MAX_READ: usize = 1 << 20;

/// The first read at a new place; what follows grows fourfold while the reader goes forward. So headers that lie far apart cost
/// little, and those of small adjacent entries arrive by the thousand.
const FIRST_READ: usize = 8 << 10;

/// How far the reader may jump and still go forward: copying this much costs about as much as another call to the host.
const STEP: u64 = 64 << 10;

impl Bytes for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, len: u32) -> Vec<u8> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let end = start.saturating_add((len as usize).min(MAX_READ)).min(self.len());
        self[start..end].to_vec()
    }
}

/// A piece of an archive held in memory, moved as the reader asks for bytes outside of it.
pub struct Window<'a, B: Bytes + ?Sized> {
    source: &'a B,
    size: u64,
    start: u64,
    held: Vec<u8>,
    ahead: usize,
}

impl<'a, B: Bytes + ?Sized> Window<'a, B> {
    pub fn new(source: &'a B) -> Self {
        Self { source, size: source.size(), start: 0, held: Vec::new(), ahead: FIRST_READ }
    }

    /// The size of the whole archive.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Exactly `len` bytes at `offset`, at most [`MAX_READ`]; an error of kind `ZIP_INVALID` if the archive ends before.
    pub fn get(&mut self, offset: u64, len: usize) -> Result<&[u8], Error> {
        let end = offset.checked_add(len as u64).filter(|&end| end <= self.size && len <= MAX_READ);
        if end.is_none() {
            return Err(invalid(format!(
                "the archive ends before byte {offset} + {len}: it is cut off, or an offset in it is wrong"
            )));
        }
        if !self.holds(offset, len) {
            self.move_to(offset, len);
            if !self.holds(offset, len) {
                return Err(invalid("the archive became shorter while it was being read"));
            }
        }
        let at = (offset - self.start) as usize;
        Ok(&self.held[at..at + len])
    }

    /// Between one and `most` bytes at `offset`: what is held already, or else what one read brings.
    pub fn some(&mut self, offset: u64, most: u64) -> Result<&[u8], Error> {
        if !self.holds(offset, 1) {
            self.get(offset, most.min(MAX_READ as u64) as usize)?;
        }
        let held = &self.held[(offset - self.start) as usize..];
        Ok(&held[..held.len().min(usize::try_from(most).unwrap_or(usize::MAX))])
    }

    fn holds(&self, offset: u64, len: usize) -> bool {
        offset >= self.start
            && offset - self.start <= self.held.len() as u64
            && len <= self.held.len() - (offset - self.start) as usize
    }

    fn move_to(&mut self, offset: u64, len: usize) {
        let held_until = self.start + self.held.len() as u64;
        let goes_on = offset >= self.start && offset <= held_until + STEP && !self.held.is_empty();
        self.ahead = if goes_on { (self.ahead * 4).min(MAX_READ) } else { FIRST_READ };
        self.held = self.source.read(offset, len.max(self.ahead) as u32);
        self.start = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Counted<'a>(&'a [u8], Cell<u32>);

    impl Bytes for Counted<'_> {
        fn size(&self) -> u64 {
            self.0.size()
        }
        fn read(&self, offset: u64, len: u32) -> Vec<u8> {
            self.1.set(self.1.get() + 1);
            self.0.read(offset, len)
        }
    }

    #[test]
    fn small_steps_through_eight_mebibytes_take_few_reads() {
        let data: Vec<u8> = (0..8u32 << 20).map(|i| i as u8).collect();
        let source = Counted(&data, Cell::new(0));
        let mut window = Window::new(&source);
        for at in (0..data.len() - 100).step_by(100) {
            assert_eq!(window.get(at as u64, 100).unwrap(), &data[at..at + 100]);
        }
        assert!(source.1.get() < 20, "{} reads", source.1.get());
    }

    #[test]
    fn a_stream_reads_every_byte_once() {
        let data: Vec<u8> = (0..5u32 << 20).map(|i| (i * 7) as u8).collect();
        let source = Counted(&data, Cell::new(0));
        let mut window = Window::new(&source);
        let mut at = 0;
        while at < data.len() {
            let some = window.some(at as u64, (data.len() - at) as u64).unwrap();
            let used = some.len().min(200_000);
            assert_eq!(some[..used], data[at..at + used]);
            at += used;
        }
        assert_eq!(source.1.get(), 5);
    }

    #[test]
    fn what_lies_beyond_the_end_is_an_error() {
        let mut window = Window::new(&b"abc"[..]);
        assert_eq!(window.get(1, 2).unwrap(), b"bc");
        assert_eq!(window.get(3, 0).unwrap(), b"");
        assert!(window.get(2, 2).is_err());
        assert!(window.get(u64::MAX, 2).is_err());
    }
}
