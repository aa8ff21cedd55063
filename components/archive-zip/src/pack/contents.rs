//! New contents from the workspace into the archive, compressed if that was asked for or helps, in bounded memory.

use zlib_rs::{Deflate, DeflateFlush, Status};

use super::header::Header;
use super::staging::Staging;
use super::{Contents, Output};
use crate::contract::{EntryKind, Error, NewEntry};
use crate::crc::{Crc32, crc32};
use crate::failure::{internal, moved_on, quoted};
use crate::fields::{DESCRIPTOR_SIGNATURE, IN_ZIP64, flag, method};

/// Files up to this size are compressed in memory, so that their header can say everything. The output cannot be written twice at
/// one place; a larger file that is compressed gets its numbers in a descriptor behind it, and one that is stored is read twice.
const IN_MEMORY: u64 = 4 << 20;
/// How much of a large new file is compressed to see whether it is worth it.
const PROBE: u64 = 1 << 20;
/// How much is read from a file at once.
const READ: u64 = 256 << 10;
/// From this size on a file gets 64-bit numbers even if it is compressed: it could still grow a little.
const WIDE: u64 = 0xf000_0000;
const LEVEL: i32 = 6;

/// What is only known after an entry was written.
#[derive(Clone, Copy, Default)]
pub struct Measured {
    pub crc32: u32,
    pub size: u64,
    pub compressed_size: u64,
}

/// How contents are to be written.
#[derive(Clone, Copy, PartialEq)]
pub enum Wish {
    Stored,
    Deflated,
    /// Compressed if that makes it smaller.
    Smaller,
}

/// Reads files of the workspace into the archive.
pub struct Packer<'a, C: Contents> {
    files: &'a mut C,
    deflate: Deflate,
    room: Vec<u8>,
}

impl<'a, C: Contents> Packer<'a, C> {
    pub fn new(files: &'a mut C) -> Self {
        Self { files, deflate: Deflate::new(LEVEL, false, 15), room: vec![0; READ as usize] }
    }

    /// Writes an entry that the archive did not have.
    pub fn write_new<O: Output>(
        &mut self,
        staging: &mut Staging<O>,
        new: &NewEntry,
        header: &mut Header,
    ) -> Result<Measured, Error> {
        let contents = match new.kind {
            EntryKind::File => return self.write_file(staging, &new.path, header, Wish::Smaller),
            EntryKind::Directory => String::new(),
            EntryKind::Symlink => self.files.read_link(&new.path)?,
        };
        let size = contents.len() as u64;
        let measured = Measured { crc32: crc32(contents.as_bytes()), size, compressed_size: size };
        staging.write(&header.local(Some(&measured), false)?)?;
        staging.write(contents.as_bytes())?;
        Ok(measured)
    }

    /// Writes header and contents of the file at `path`.
    pub fn write_file<O: Output>(
        &mut self,
        staging: &mut Staging<O>,
        path: &str,
        header: &mut Header,
        wish: Wish,
    ) -> Result<Measured, Error> {
        let (file, size) = self.files.open(path)?;
        let input = Input { path, file, size };
        if size <= IN_MEMORY {
            return self.write_small(staging, &input, header, wish);
        }
        let is_worth_it = match wish {
            Wish::Stored => false,
            Wish::Deflated => true,
            Wish::Smaller => {
                let probe = self.read(&input, 0, PROBE)?;
                (self.compress_all(&probe)?.len() as u64) < PROBE
            }
        };
        if is_worth_it { self.write_compressed(staging, &input, header) } else { self.write_stored(staging, &input, header) }
    }

    fn write_small<O: Output>(
        &mut self,
        staging: &mut Staging<O>,
        input: &Input<C::File>,
        header: &mut Header,
        wish: Wish,
    ) -> Result<Measured, Error> {
        let contents = self.read(input, 0, input.size)?;
        self.check_end(input)?;
        let compressed = if wish == Wish::Stored { Vec::new() } else { self.compress_all(&contents)? };
        let is_compressed = wish == Wish::Deflated || (wish == Wish::Smaller && compressed.len() < contents.len());
        let written = if is_compressed { &compressed } else { &contents };
        let measured = Measured { crc32: crc32(&contents), size: contents.len() as u64, compressed_size: written.len() as u64 };
        header.method = if is_compressed { method::DEFLATED } else { method::STORED };
        staging.write(&header.local(Some(&measured), false)?)?;
        staging.write(written)?;
        Ok(measured)
    }

    /// Two passes, since a stored entry with a descriptor cannot be read by programs that read from a pipe.
    fn write_stored<O: Output>(
        &mut self,
        staging: &mut Staging<O>,
        input: &Input<C::File>,
        header: &mut Header,
    ) -> Result<Measured, Error> {
        let mut crc = Crc32::new();
        self.each_piece(input, |_, piece, _| {
            crc.update(piece);
            Ok(())
        })?;
        let measured = Measured { crc32: crc.value(), size: input.size, compressed_size: input.size };
        header.method = method::STORED;
        staging.write(&header.local(Some(&measured), input.size >= u64::from(IN_ZIP64))?)?;
        let mut crc = Crc32::new();
        self.each_piece(input, |_, piece, _| {
            crc.update(piece);
            staging.write(piece)
        })?;
        if crc.value() != measured.crc32 {
            return Err(input.changed());
        }
        Ok(measured)
    }

    fn write_compressed<O: Output>(
        &mut self,
        staging: &mut Staging<O>,
        input: &Input<C::File>,
        header: &mut Header,
    ) -> Result<Measured, Error> {
        let is_wide = input.size >= WIDE;
        header.method = method::DEFLATED;
        header.flags |= flag::DESCRIPTOR;
        staging.write(&header.local(None, is_wide)?)?;
        let start = staging.position();
        let mut crc = Crc32::new();
        self.deflate.reset();
        self.each_piece(input, |packer, piece, is_last| {
            crc.update(piece);
            packer.compress(piece, is_last, |compressed| staging.write(compressed))
        })?;
        let measured = Measured { crc32: crc.value(), size: input.size, compressed_size: staging.position() - start };
        staging.write(&descriptor(&measured, is_wide))?;
        Ok(measured)
    }

    /// The whole file, piece by piece; with each it is said whether it is the last.
    fn each_piece(
        &mut self,
        input: &Input<C::File>,
        mut visit: impl FnMut(&mut Self, &[u8], bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut at = 0;
        while at < input.size {
            let piece = self.read(input, at, READ.min(input.size - at))?;
            at += piece.len() as u64;
            visit(self, &piece, at == input.size)?;
        }
        self.check_end(input)
    }

    /// Exactly `len` bytes.
    fn read(&mut self, input: &Input<C::File>, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(len as usize);
        while (bytes.len() as u64) < len {
            let at = bytes.len() as u64;
            let piece = self.files.read(&input.file, offset + at, (len - at).min(READ) as u32)?;
            if piece.is_empty() {
                return Err(input.changed());
            }
            bytes.extend(piece);
        }
        Ok(bytes)
    }

    fn check_end(&mut self, input: &Input<C::File>) -> Result<(), Error> {
        if self.files.read(&input.file, input.size, 1)?.is_empty() { Ok(()) } else { Err(input.changed()) }
    }

    fn compress_all(&mut self, contents: &[u8]) -> Result<Vec<u8>, Error> {
        let mut compressed = Vec::with_capacity(contents.len() / 2 + 64);
        self.deflate.reset();
        self.compress(contents, true, |piece| {
            compressed.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(compressed)
    }

    fn compress(&mut self, mut input: &[u8], is_last: bool, mut emit: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let flush = if is_last { DeflateFlush::Finish } else { DeflateFlush::NoFlush };
        loop {
            let (used, made) = (self.deflate.total_in(), self.deflate.total_out());
            let status = self.deflate.compress(input, &mut self.room, flush).map_err(|error| internal(error.as_str()))?;
            let (used, made) = ((self.deflate.total_in() - used) as usize, (self.deflate.total_out() - made) as usize);
            input = &input[used..];
            emit(&self.room[..made])?;
            // With room left over, everything that was given has been taken; the end of the stream has its own status.
            let is_done = if is_last { status == Status::StreamEnd } else { input.is_empty() && made < self.room.len() };
            if is_done {
                return Ok(());
            }
            if used == 0 && made == 0 {
                return Err(internal("the compressor makes no progress"));
            }
        }
    }
}

struct Input<'a, F> {
    path: &'a str,
    file: F,
    size: u64,
}

impl<F> Input<'_, F> {
    fn changed(&self) -> Error {
        moved_on(format!("{} changed while it was being packed", quoted(self.path.as_bytes())))
    }
}

fn descriptor(measured: &Measured, is_wide: bool) -> Vec<u8> {
    let mut bytes = DESCRIPTOR_SIGNATURE.to_vec();
    bytes.extend(measured.crc32.to_le_bytes());
    for size in [measured.compressed_size, measured.size] {
        if is_wide {
            bytes.extend(size.to_le_bytes());
        } else {
            bytes.extend((size as u32).to_le_bytes());
        }
    }
    bytes
}
