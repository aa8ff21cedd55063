//! Contents of the workspace on their way into an archive: compressed if that was asked for or helps, in bounded memory.

use zlib_rs::{Deflate, DeflateFlush, Status};

use crate::contract::{EntryKind, Error, Prepared, Wanted};
use crate::crc::{Crc32, crc32};
use crate::failure::{internal, moved_on, quoted};
use crate::fields::method;
use crate::pack::{Output, Staging};

/// Files up to this size are compressed in memory, and stored if that did not make them smaller.
const IN_MEMORY: u64 = 4 << 20;
/// How much of a large new file is compressed to see whether it is worth it.
const PROBE: u64 = 1 << 20;
/// How much is read from a file at once.
const READ: u64 = 256 << 10;
const LEVEL: i32 = 6;

/// Where contents come from: the workspace, or memory in a test.
pub trait Contents {
    type File;
    /// Opens a regular file and says how large it is. Links are not followed.
    fn open(&mut self, path: &str) -> Result<(Self::File, u64), Error>;
    /// What a link says. It is not followed.
    fn read_link(&mut self, path: &str) -> Result<String, Error>;
    /// Reads up to `len` bytes; none only at the end.
    fn read(&mut self, file: &Self::File, offset: u64, len: u32) -> Result<Vec<u8>, Error>;
}

/// Puts what is wanted into the scratch file, one after the other.
pub fn prepare<O: Output, C: Contents>(wanted: &[Wanted], files: &mut C, scratch: &mut O) -> Result<Vec<Prepared>, Error> {
    let mut scratch = Staging::new(scratch);
    let mut packer = Packer { files, deflate: Deflate::new(LEVEL, false, 15), room: vec![0; READ as usize] };
    let prepared = wanted.iter().map(|wanted| packer.prepare(wanted, &mut scratch)).collect::<Result<_, _>>()?;
    scratch.finish()?;
    Ok(prepared)
}

/// How contents are to be written.
#[derive(Clone, Copy, PartialEq)]
enum Wish {
    Stored,
    Deflated,
    /// Compressed if that makes it smaller.
    Smaller,
}

impl Wish {
    /// What was compressed stays so, and what was not as well: formats depend on it; the first file of an EPUB has to be stored.
    fn of(method: Option<u16>) -> Self {
        match method {
            None => Self::Smaller,
            Some(method::STORED) => Self::Stored,
            Some(_) => Self::Deflated,
        }
    }
}

/// Reads files of the workspace into a scratch file.
struct Packer<'a, C: Contents> {
    files: &'a mut C,
    deflate: Deflate,
    room: Vec<u8>,
}

impl<C: Contents> Packer<'_, C> {
    fn prepare<O: Output>(&mut self, wanted: &Wanted, scratch: &mut Staging<O>) -> Result<Prepared, Error> {
        let contents = match wanted.kind {
            EntryKind::File => return self.prepare_file(&wanted.path, Wish::of(wanted.method), scratch),
            EntryKind::Directory => String::new(),
            EntryKind::Symlink => self.files.read_link(&wanted.path)?,
        };
        let (offset, size) = (scratch.position(), contents.len() as u64);
        scratch.write(contents.as_bytes())?;
        let crc32 = crc32(contents.as_bytes());
        Ok(Prepared { offset, size, compressed_size: size, crc32, method: method::STORED })
    }

    fn prepare_file<O: Output>(&mut self, path: &str, wish: Wish, scratch: &mut Staging<O>) -> Result<Prepared, Error> {
        let (file, size) = self.files.open(path)?;
        let input = Input { path, file, size };
        if size <= IN_MEMORY {
            return self.prepare_small(&input, wish, scratch);
        }
        let is_worth_it = match wish {
            Wish::Stored => false,
            Wish::Deflated => true,
            Wish::Smaller => {
                let probe = self.read(&input, 0, PROBE)?;
                (self.compress_all(&probe)?.len() as u64) < PROBE
            }
        };
        let offset = scratch.position();
        let mut crc = Crc32::new();
        self.deflate.reset();
        self.each_piece(&input, |packer, piece, is_last| {
            crc.update(piece);
            if is_worth_it { packer.compress(piece, is_last, |compressed| scratch.write(compressed)) } else { scratch.write(piece) }
        })?;
        let method = if is_worth_it { method::DEFLATED } else { method::STORED };
        Ok(Prepared { offset, size, compressed_size: scratch.position() - offset, crc32: crc.value(), method })
    }

    fn prepare_small<O: Output>(
        &mut self,
        input: &Input<C::File>,
        wish: Wish,
        scratch: &mut Staging<O>,
    ) -> Result<Prepared, Error> {
        let contents = self.read(input, 0, input.size)?;
        self.check_end(input)?;
        let compressed = if wish == Wish::Stored { Vec::new() } else { self.compress_all(&contents)? };
        let is_compressed = wish == Wish::Deflated || (wish == Wish::Smaller && compressed.len() < contents.len());
        let (written, method) = if is_compressed { (&compressed, method::DEFLATED) } else { (&contents, method::STORED) };
        let offset = scratch.position();
        scratch.write(written)?;
        let (size, compressed_size) = (contents.len() as u64, written.len() as u64);
        Ok(Prepared { offset, size, compressed_size, crc32: crc32(&contents), method })
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
