//! What comes out of an entry, held against what the entry says of itself.

use crate::contract::{Entry, Error};
use crate::crc::Crc32;
use crate::failure::{bomb, invalid, quoted};

/// An entry that is larger than it says by less than one part in this many is taken for a damaged one, by more for a bomb. Either
/// way no byte too many is written. Test: `an_entry_that_outgrows_its_size_is_refused`.
const TOLERATED: u64 = 10;

/// Counts and sums up what is handed on.
pub struct Measure<'e, F> {
    entry: &'e Entry,
    crc: Crc32,
    done: u64,
    emit: F,
}

impl<'e, F: FnMut(&[u8]) -> Result<(), Error>> Measure<'e, F> {
    pub fn new(entry: &'e Entry, emit: F) -> Self {
        Self { entry, crc: Crc32::new(), done: 0, emit }
    }

    /// Hands a piece on, unless the entry has outgrown its size.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), Error> {
        let size = self.entry.size;
        self.done += piece.len() as u64;
        if self.done > size.saturating_add(size / TOLERATED) {
            return Err(bomb(format!("entry {} is larger than the {size} bytes it declares", quoted(&self.entry.raw_name))));
        }
        if self.done <= size {
            self.crc.update(piece);
            (self.emit)(piece)?;
        }
        Ok(())
    }

    /// Whether it was all, and the right bytes.
    ///
    /// Fewer bytes than declared are let pass if their checksum is right: every reader gets the same contents. The host, which
    /// knows the size of the file, warns of it.
    pub fn finish(self) -> Result<(), Error> {
        let (name, size, done) = (quoted(&self.entry.raw_name), self.entry.size, self.done);
        if done > size {
            return Err(invalid(format!("entry {name} is damaged: it has {done} bytes and declares {size}")));
        }
        if self.crc.value() != self.entry.crc32 {
            return Err(invalid(format!("entry {name} is damaged: its checksum is wrong")));
        }
        Ok(())
    }
}
