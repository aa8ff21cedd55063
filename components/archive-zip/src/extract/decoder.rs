//! The compression methods beside deflate that other programs write, by decoders that need no more memory than we let them.

use std::io::{self, BufRead, ErrorKind, Read};

use super::input::Input;
use super::zstd::Zstd;
use crate::bytes::Bytes;
use crate::contract::Entry;
use crate::fields::method;

/// The largest dictionary that an entry may ask for: what `xz -9` and 7-Zip's best level ask for. The formats allow 4 GiB, which is
/// an attack on our memory. Test: `a_dictionary_of_four_gibibytes_is_refused`.
pub const MAX_DICTIONARY: u32 = 64 << 20;

/// The probabilities of an LZMA decoder, besides its dictionary, in KiB: at most what its three parameters can make of them.
const LZMA_STATE: u32 = 16 << 10;

/// A reader of an entry's contents. `has_end_mark` is the entry's flag for LZMA. An error of kind `OutOfMemory` says that the entry
/// asks for too large a dictionary; every other one that it is damaged.
pub fn decoder<'w, 'a: 'w, B: Bytes + ?Sized>(
    input: Input<'w, 'a, B>,
    entry: &Entry,
    has_end_mark: bool,
) -> io::Result<Box<dyn Read + 'w>> {
    Ok(match entry.method {
        method::DEFLATE64 => Box::new(deflate64::Deflate64Decoder::with_buffer(input)),
        method::BZIP2 => Box::new(bzip2::bufread::BzDecoder::new(input)),
        method::LZMA => lzma(input, entry.size, has_end_mark)?,
        method::ZSTD => Box::new(Zstd::new(input)),
        method::XZ => Box::new(lzma_rust2::XzReader::new_mem_limit(input, false, (MAX_DICTIONARY >> 10) + LZMA_STATE)),
        other => return Err(io::Error::new(ErrorKind::Unsupported, format!("method {other} is not known"))),
    })
}

/// A zip has LZMA behind a header of its own: the version of the SDK, the length of the properties, the properties.
fn lzma<'r>(mut input: impl BufRead + 'r, size: u64, has_end_mark: bool) -> io::Result<Box<dyn Read + 'r>> {
    let mut head = [0; 9];
    input.read_exact(&mut head)?;
    let [_, _, 5, 0, properties, dictionary @ ..] = head else {
        return Err(io::Error::new(ErrorKind::InvalidData, "its LZMA properties are of an unknown kind"));
    };
    let dictionary = u32::from_le_bytes(dictionary);
    if dictionary > MAX_DICTIONARY {
        return Err(ErrorKind::OutOfMemory.into());
    }
    // Nothing lies further back than the beginning of the file.
    let needed = dictionary.min(u32::try_from(size).unwrap_or(u32::MAX)).max(4096);
    let size = if has_end_mark { u64::MAX } else { size };
    let mut reader = lzma_rust2::LzmaReader::new_with_props(input, size, properties, needed, None)?;
    // Contents that go on behind their declared size show themselves.
    reader.set_relaxed_end_condition(false);
    Ok(Box::new(reader))
}
