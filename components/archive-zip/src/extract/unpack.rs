//! The contents of one entry, unpacked piece by piece and never a byte more than declared.

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, Error};
use crate::crc::Crc32;
use crate::failure::{bomb, internal, invalid, quoted};
use crate::fields::method;

/// The most that is handed on at once. Larger pieces are not faster; this one and the window are all the memory there is.
const PIECE: usize = 1 << 20;

/// An entry that is larger than it says by less than one part in this many is taken for a damaged one, by more for a bomb. Either
/// way no byte too many is written. Test: `an_entry_that_outgrows_its_size_is_refused`.
const TOLERATED: u64 = 10;

/// The state that is used for one entry after the other.
pub struct Unpacker {
    inflate: Inflate,
    piece: Vec<u8>,
}

impl Unpacker {
    pub fn new() -> Self {
        Self { inflate: Inflate::new(false, 15), piece: Vec::new() }
    }

    /// Unpacks the contents that begin at `at`, handing on pieces, and checks their size and checksum.
    pub fn unpack<B: Bytes + ?Sized>(
        &mut self,
        window: &mut Window<B>,
        at: u64,
        entry: &Entry,
        mut emit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut crc = Crc32::new();
        let emit = |piece: &[u8]| {
            crc.update(piece);
            emit(piece)
        };
        match entry.method {
            method::STORED => copy(window, at, entry, emit)?,
            method::DEFLATED => self.inflate(window, at, entry, emit)?,
            other => return Err(internal(format!("entry {} has method {other}, which the scan refuses", quoted(&entry.raw_name)))),
        }
        if crc.value() != entry.crc32 {
            return Err(invalid(format!("entry {} is damaged: its checksum is wrong", quoted(&entry.raw_name))));
        }
        Ok(())
    }

    /// Inflates until the stream ends. Bytes that lie behind the stream and within the entry are nobody's, for every reader.
    fn inflate<B: Bytes + ?Sized>(
        &mut self,
        window: &mut Window<B>,
        mut at: u64,
        entry: &Entry,
        mut emit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let damaged = |what: &str| invalid(format!("entry {} is damaged: {what}", quoted(&entry.raw_name)));
        let end = at.saturating_add(entry.compressed_size);
        // Room for one byte more than declared, so that a larger entry shows itself.
        let room = usize::try_from(entry.size).unwrap_or(PIECE).saturating_add(1).min(PIECE);
        if self.piece.len() < room {
            self.piece.resize(room, 0);
        }
        self.inflate.reset(false);
        let (mut done, mut filled) = (0u64, 0usize);
        loop {
            let input: &[u8] = if at < end { window.some(at, end - at)? } else { &[] };
            let (used, made) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut self.piece[filled..], InflateFlush::NoFlush);
            let status = status.map_err(|error| damaged(error.as_str()))?;
            let (used, made) = (self.inflate.total_in() - used, self.inflate.total_out() - made);
            at += used;
            filled += made as usize;
            if status == Status::StreamEnd || filled == self.piece.len() {
                done += filled as u64;
                if done <= entry.size {
                    emit(&self.piece[..filled])?;
                } else if done > entry.size.saturating_add(entry.size / TOLERATED) {
                    let (name, size) = (quoted(&entry.raw_name), entry.size);
                    return Err(bomb(format!("entry {name} is larger than the {size} bytes it declares")));
                }
                filled = 0;
            }
            if status == Status::StreamEnd {
                break;
            }
            if used == 0 && made == 0 {
                return Err(damaged("its compressed data is cut off"));
            }
        }
        if done != entry.size {
            return Err(damaged(&format!("it has {done} bytes and declares {}", entry.size)));
        }
        Ok(())
    }
}

fn copy<B: Bytes + ?Sized>(
    window: &mut Window<B>,
    mut at: u64,
    entry: &Entry,
    mut emit: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let end = at.saturating_add(entry.compressed_size);
    while at < end {
        let piece = window.some(at, end - at)?;
        emit(piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}
