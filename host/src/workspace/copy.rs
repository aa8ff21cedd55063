//! A private copy of an archive and its SHA-256, made in one pass over one descriptor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use sha2::{Digest, Sha256};

/// Copies `from`, from its beginning, into the empty file `to`. Shares the blocks where the filesystem can.
///
/// The source may change while we read it; what counts is that the hash is the hash of the copy.
pub fn copy_and_hash(from: &File, to: &mut File) -> io::Result<String> {
    if rustix::fs::ioctl_ficlone(&*to, from).is_ok() {
        return hash(to);
    }
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        let read = match from.read_at(&mut buffer, offset) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        offset += read as u64;
    }
    Ok(hex(&digest.finalize()))
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

/// Whether two descriptors are the same file.
pub fn is_same_file(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}
