//! A private copy of an archive and its SHA-256, made in one pass over one descriptor; and checksums of files.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::mpsc;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// What is read at once.
const PIECE: usize = 1 << 20;
/// How far the reader may be ahead of the hash: so many pieces are held in memory.
const AHEAD: usize = 4;

/// Copies the first `size` bytes of `from` into the empty file `to`. Shares the blocks where the filesystem can; else one thread
/// reads and writes, and another hashes what was read.
///
/// The source may change while we read it; what counts is that the hash is the hash of the copy. It may also have no end: some
/// files of the kernel report no size and can be read for ever. Hence no more than `size`, and an error if there is more.
pub fn copy_and_hash(from: &File, to: &File, size: u64, is_cancelled: impl Fn() -> bool) -> io::Result<String> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        to.set_len(size)?;
        return hash(to);
    }
    let mut digest = Sha256::new();
    if size <= PIECE as u64 {
        copy_pieces(from, to, size, is_cancelled, || vec![0; size as usize], |piece| digest.update(piece))?;
        return Ok(hex(&digest.finalize()));
    }
    std::thread::scope(|scope| {
        let (read, to_hash) = mpsc::sync_channel::<Vec<u8>>(AHEAD);
        let (hashed, to_fill) = mpsc::channel();
        let hashing = scope.spawn(move || {
            for mut piece in to_hash {
                digest.update(&piece);
                piece.resize(PIECE, 0);
                let _ = hashed.send(piece);
            }
            hex(&digest.finalize())
        });
        // It only hangs up if it breaks down, which shows when it is joined.
        let hand_over = |piece| drop(read.send(piece));
        copy_pieces(from, to, size, is_cancelled, || to_fill.try_recv().unwrap_or_else(|_| vec![0; PIECE]), hand_over)?;
        drop(read);
        hashing.join().map_err(|_| io::Error::other("the hash broke down"))
    })
}

/// The copy itself. Each piece is handed over when it was written.
fn copy_pieces(
    from: &File,
    mut to: &File,
    size: u64,
    is_cancelled: impl Fn() -> bool,
    room: impl Fn() -> Vec<u8>,
    mut hand_over: impl FnMut(Vec<u8>),
) -> io::Result<()> {
    let mut offset = 0;
    while offset < size {
        if is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut piece = room();
        piece.truncate(usize::try_from(size - offset).unwrap_or(usize::MAX));
        match from.read_at(&mut piece, offset) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read")),
            Ok(read) => {
                piece.truncate(read);
                to.write_all(&piece)?;
                offset += read as u64;
                hand_over(piece);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match from.read_at(&mut [0], size)? {
        0 => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than it says")),
    }
}

/// Copies a file of that size into an empty one.
pub fn copy(from: &File, to: &File, size: u64) -> io::Result<()> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        Ok(())
    } else {
        copy_range(from, to, Range { offset: 0, len: size, at: 0 }, 0, |_| Ok(()))
    }
}

/// Whether `to`, which is empty and stays so, can share blocks with `from`: their size, or 0.
pub fn shared_block_size(from: &File, to: &File) -> io::Result<u32> {
    if rustix::fs::ioctl_ficlone(to, from).is_err() {
        return Ok(0);
    }
    to.set_len(0)?;
    Ok(u32::try_from(to.metadata()?.blksize()).unwrap_or(0))
}

/// The most that is copied in one step: progress shows, and whoever follows the stage has something to read.
const STEP: u64 = 8 << 20;
/// The same for blocks that are shared, which costs next to nothing.
const SHARED_STEP: u64 = 1 << 30;

/// A stretch of one file, and where it goes in another.
#[derive(Clone, Copy)]
pub struct Range {
    pub offset: u64,
    pub len: u64,
    pub at: u64,
}

/// Copies a range in the kernel. With a `block_size`, blocks that lie alike in both files are shared; it is the kernel that does so,
/// if it is asked for whole ones. `report` hears how much was copied, and may end it.
pub fn copy_range(from: &File, to: &File, range: Range, block_size: u32, report: impl Fn(u64) -> io::Result<()>) -> io::Result<()> {
    let Range { mut offset, len, mut at } = range;
    let end = offset + len;
    let block = u64::from(block_size);
    let shares = block > 0 && offset % block == at % block;
    while offset < end {
        let step = match shares {
            true if offset % block > 0 => block - offset % block,
            true => SHARED_STEP,
            false => STEP,
        };
        let step = (end - offset).min(step) as usize;
        match rustix::fs::copy_file_range(from, Some(&mut offset), to, Some(&mut at), step) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            // Two filesystems, or one that cannot.
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let mut buffer = vec![0; step.min(1 << 20)];
                from.read_exact_at(&mut buffer, offset)?;
                to.write_all_at(&buffer, at)?;
                offset += buffer.len() as u64;
                at += buffer.len() as u64;
            }
            Err(error) => return Err(error.into()),
        }
        report(len - (end - offset))?;
    }
    Ok(())
}

/// SHA-256 of a file that somebody else is writing from the first byte to the last, and how many bytes it is of. Blocks until
/// nobody can say any more how far they got.
pub fn hash_behind(file: &File, written: mpsc::Receiver<u64>) -> io::Result<(String, u64)> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    let mut offset = 0;
    for reached in written {
        while offset < reached {
            let most = usize::try_from(reached - offset).unwrap_or(usize::MAX).min(buffer.len());
            match file.read_at(&mut buffer[..most], offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    digest.update(&buffer[..read]);
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok((hex(&digest.finalize()), offset))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these contents, and an empty one.
    fn files(contents: &[u8]) -> (File, File) {
        let from = tempfile::tempfile().unwrap();
        (&from).write_all(contents).unwrap();
        (from, tempfile::tempfile().unwrap())
    }

    #[test]
    fn the_hash_is_of_the_copy_whatever_its_size() {
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 9 * PIECE + 17] {
            let contents: Vec<u8> = (0..size).map(|at| ((at * 31) >> 3) as u8).collect();
            let (from, to) = files(&contents);
            let hashed = copy_and_hash(&from, &to, size as u64, || false).unwrap();
            assert_eq!(hashed, hex(&Sha256::digest(&contents)), "{size}");
            let mut copied = vec![0; size];
            to.read_exact_at(&mut copied, 0).unwrap();
            assert!(copied == contents && to.metadata().unwrap().len() == size as u64, "{size}");
        }
    }

    #[test]
    fn a_range_is_copied_to_its_place_whether_blocks_are_shared_or_not() {
        let contents: Vec<u8> = (0..300_000u32).map(|at| ((at * 31) >> 3) as u8).collect();
        for (offset, len, at) in [(0, 300_000, 0), (5000, 200_000, 904), (5000, 200_000, 905), (4096, 1, 4096), (7, 0, 7)] {
            for block_size in [0, 4096] {
                let (from, to) = files(&contents);
                copy_range(&from, &to, Range { offset, len, at }, block_size, |_| Ok(())).unwrap();
                let mut copied = vec![0; len as usize];
                to.read_exact_at(&mut copied, at).unwrap();
                assert!(copied == contents[offset as usize..(offset + len) as usize], "{offset} {len} {at} {block_size}");
            }
        }
    }

    #[test]
    fn a_hash_follows_the_writer() {
        let file = tempfile::tempfile().unwrap();
        let (written, reached) = mpsc::channel();
        let (hash, size) = std::thread::scope(|scope| {
            let hashing = scope.spawn(|| hash_behind(&file, reached));
            for turn in 1..=5u64 {
                (&file).write_all(&[turn as u8; 300_000]).unwrap();
                written.send(turn * 300_000).unwrap();
            }
            drop(written);
            hashing.join().unwrap().unwrap()
        });
        assert_eq!((hash, size), (super::hash(&file).unwrap(), 1_500_000));
        let (written, reached) = mpsc::channel();
        written.send(1_500_001).unwrap();
        assert!(hash_behind(&file, reached).is_err(), "it is shorter than was said");
    }

    #[test]
    fn a_source_that_shrinks_grows_or_is_not_wanted_is_an_error() {
        let contents = vec![7; 3 * PIECE];
        let attempt = |size: usize, cancelled: bool| {
            let (from, to) = files(&contents);
            copy_and_hash(&from, &to, size as u64, || cancelled).map_err(|error| error.kind())
        };
        // Where blocks are shared there is nothing to see; the copy is then what the file was at one moment.
        assert!(matches!(attempt(4 * PIECE, false), Err(io::ErrorKind::UnexpectedEof) | Ok(_)));
        assert!(matches!(attempt(2 * PIECE, false), Err(io::ErrorKind::InvalidData) | Ok(_)));
        assert!(matches!(attempt(3 * PIECE, true), Err(io::ErrorKind::Interrupted) | Ok(_)));
        assert!(attempt(3 * PIECE, false).is_ok());
    }
}
