//! A private copy of an archive and its SHA-256, made in one pass over one descriptor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

/// Copies the first `size` bytes of `from` into the empty file `to`. Shares the blocks where the filesystem can.
///
/// The source may change while we read it; what counts is that the hash is the hash of the copy. It may also have no end: some
/// files of the kernel report no size and can be read for ever. Hence no more than `size`, and an error if there is more.
pub fn copy_and_hash(from: &File, to: &mut File, size: u64, is_cancelled: impl Fn() -> bool) -> io::Result<String> {
    if rustix::fs::ioctl_ficlone(&*to, from).is_ok() {
        to.set_len(size)?;
        return hash(to);
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < size {
        if is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let wanted = buffer.len().min(usize::try_from(size - offset).unwrap_or(usize::MAX));
        match from.read_at(&mut buffer[..wanted], offset) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read")),
            Ok(read) => {
                digest.update(&buffer[..read]);
                to.write_all(&buffer[..read])?;
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match from.read_at(&mut buffer[..1], size)? {
        0 => Ok(hex(&digest.finalize())),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than it says")),
    }
}

/// Copies a whole file into an empty one, in the kernel where it can.
pub fn copy(from: &File, to: &mut File) -> io::Result<()> {
    if rustix::fs::ioctl_ficlone(&*to, from).is_ok() {
        return Ok(());
    }
    io::copy(&mut io::BufReader::with_capacity(1 << 20, ReadAt { file: from, offset: 0 }), to).map(|_| ())
}

/// Reads from a place of its own, so that nobody else's reading is disturbed.
struct ReadAt<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// SHA-256 of a whole file.
pub fn hash(file: &File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        match file.read_at(&mut buffer, offset) {
            Ok(0) => return Ok(hex(&digest.finalize())),
            Ok(read) => {
                digest.update(&buffer[..read]);
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// CRC-32 of a file's contents, and its size.
pub fn checksum(mut file: impl Read) -> io::Result<(u32, u64)> {
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    let mut size = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((crc.finalize(), size)),
            Ok(read) => {
                crc.update(&buffer[..read]);
                size += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
