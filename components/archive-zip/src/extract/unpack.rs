//! The contents of one entry, unpacked piece by piece and never a byte more than declared.

use std::io::{ErrorKind, Read};

use zlib_rs::{Inflate, InflateFlush, Status};

use super::decoder::{MAX_DICTIONARY, decoder};
use super::input::Input;
use super::measure::Measure;
use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, Error};
use crate::failure::{bomb, invalid, quoted};
use crate::fields::method;

/// The most that is handed on at once. Larger pieces are not faster; this one and the window are all the memory there is, besides
/// what a decoder other than deflate's needs.
const PIECE: usize = 1 << 20;

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
        has_end_mark: bool,
        emit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut measure = Measure::new(entry, emit);
        match entry.method {
            method::STORED => copy(window, at, entry, &mut measure)?,
            method::DEFLATED => self.inflate(window, at, entry, &mut measure)?,
            _ => self.decode(Input::new(window, at, entry.compressed_size), entry, has_end_mark, &mut measure)?,
        }
        measure.finish()
    }

    /// Inflates until the stream ends. Bytes that lie behind the stream and within the entry are nobody's, for every reader.
    fn inflate<B: Bytes + ?Sized>(
        &mut self,
        window: &mut Window<B>,
        mut at: u64,
        entry: &Entry,
        measure: &mut Measure<impl FnMut(&[u8]) -> Result<(), Error>>,
    ) -> Result<(), Error> {
        let end = at.saturating_add(entry.compressed_size);
        self.make_room(entry);
        self.inflate.reset(false);
        let mut filled = 0usize;
        loop {
            let input: &[u8] = if at < end { window.some(at, end - at)? } else { &[] };
            let (used, made) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(input, &mut self.piece[filled..], InflateFlush::NoFlush);
            let status = status.map_err(|error| damaged(entry, error.as_str()))?;
            let (used, made) = (self.inflate.total_in() - used, self.inflate.total_out() - made);
            at += used;
            filled += made as usize;
            if status == Status::StreamEnd || filled == self.piece.len() {
                measure.take(&self.piece[..filled])?;
                filled = 0;
            }
            if status == Status::StreamEnd {
                return Ok(());
            }
            if used == 0 && made == 0 {
                return Err(damaged(entry, "its compressed data is cut off"));
            }
        }
    }

    /// The same by one of the other decoders.
    fn decode<B: Bytes + ?Sized>(
        &mut self,
        input: Input<'_, '_, B>,
        entry: &Entry,
        has_end_mark: bool,
        measure: &mut Measure<impl FnMut(&[u8]) -> Result<(), Error>>,
    ) -> Result<(), Error> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::OutOfMemory => {
                let name = quoted(&entry.raw_name);
                bomb(format!("entry {name} needs a dictionary of more than {MAX_DICTIONARY} bytes to be unpacked"))
            }
            ErrorKind::UnexpectedEof => damaged(entry, "its compressed data is cut off"),
            _ => damaged(entry, &error.to_string()),
        };
        self.make_room(entry);
        let mut decoder = decoder(input, entry, has_end_mark).map_err(failed)?;
        let mut filled = 0;
        loop {
            let made = decoder.read(&mut self.piece[filled..]).map_err(failed)?;
            filled += made;
            if made == 0 || filled == self.piece.len() {
                measure.take(&self.piece[..filled])?;
                filled = 0;
            }
            if made == 0 {
                return Ok(());
            }
        }
    }

    /// Room for one byte more than declared, so that a larger entry shows itself.
    fn make_room(&mut self, entry: &Entry) {
        let room = usize::try_from(entry.size).unwrap_or(PIECE).saturating_add(1).min(PIECE);
        if self.piece.len() < room {
            self.piece.resize(room, 0);
        }
    }
}

fn copy<B: Bytes + ?Sized>(
    window: &mut Window<B>,
    mut at: u64,
    entry: &Entry,
    measure: &mut Measure<impl FnMut(&[u8]) -> Result<(), Error>>,
) -> Result<(), Error> {
    let end = at.saturating_add(entry.compressed_size);
    while at < end {
        let piece = window.some(at, end - at)?;
        measure.take(piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}

fn damaged(entry: &Entry, what: &str) -> Error {
    invalid(format!("entry {} is damaged: {what}", quoted(&entry.raw_name)))
}
