//! A private copy of an archive, its SHA-256, and checksums of files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// Copies the first `size` bytes of `from` into the empty file `to`, in the kernel and sharing the blocks where the filesystem can.
///
/// The source may change while we read it; what counts is that everything later, the hash included, is of the copy. It may also
/// have no end: some files of the kernel report no size and can be read for ever. Hence no more than `size`, and an error if there
/// is more.
pub fn copy(from: &File, to: &File, size: u64, is_cancelled: impl Fn() -> bool) -> io::Result<()> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return to.set_len(size);
    }
    let mut offset = 0;
    while offset < size {
        if is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let step = STEP.min(size - offset);
        copy_range(from, to, offset, step, |_| {}).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "it became shorter while it was read"),
            _ => error,
        })?;
        offset += step;
    }
    match from.read_at(&mut [0], size)? {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than it says")),
    }
}

/// The most that is copied in one step: progress shows, and whoever follows the stage has something to read.
const STEP: u64 = 8 << 20;

/// Adds `len` bytes at `offset` of one file to the end of another: in the kernel, sharing blocks where the filesystem can. `report`
/// hears how much was copied.
pub fn copy_range(from: &File, mut to: &File, mut offset: u64, len: u64, report: impl Fn(u64)) -> io::Result<()> {
    let end = offset + len;
    while offset < end {
        let step = (end - offset).min(STEP) as usize;
        match rustix::fs::copy_file_range(from, Some(&mut offset), to, None, step) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            // Two filesystems, or one that cannot.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let mut buffer = vec![0; step.min(1 << 20)];
                from.read_exact_at(&mut buffer, offset)?;
                to.write_all(&buffer)?;
                offset += buffer.len() as u64;
            }
            Err(error) => return Err(error.into()),
        }
        report(len - (end - offset));
    }
    Ok(())
}

/// SHA-256 of a whole file.
pub fn hash(file: &File) -> io::Result<String> {
    hash_unless(file, || false)
}

/// The same, unless nobody wants it any more.
pub fn hash_unless(file: &File, is_cancelled: impl Fn() -> bool) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        if is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
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
