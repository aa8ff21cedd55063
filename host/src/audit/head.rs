//! Where the log ends: the number, place and hash of its last line, in a file of fixed size that is written with each line.
//!
//! It is what lets a writer go on without reading the log, and what shows that lines were cut off at the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use super::reading::file_name;

/// The end of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Number of the first line of the current file, which is its name.
    pub segment: u64,
    /// Number of the last line; 0 before the first.
    pub number: u64,
    /// Bytes of the current file.
    pub length: u64,
    /// SHA-256 of the last line with its newline, in hexadecimal; zeros before the first.
    pub hash: String,
}

pub const NAME: &str = "head";

/// What the first line has for the hash of the line before it.
pub const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Three numbers of twenty digits, a hash, and what separates them.
const SIZE: usize = 3 * 21 + 64 + 1;

/// How long the turn of another process is waited for. It takes microseconds; a process that was stopped in the middle of its
/// turn must not stop all others for ever.
const PATIENCE: Duration = Duration::from_secs(5);

impl Head {
    pub fn beginning() -> Head {
        Head { segment: 1, number: 0, length: 0, hash: ZEROS.into() }
    }

    /// Reads it. `None` if it was never written; an error if it is not what was written.
    pub fn read(file: &File) -> io::Result<Option<Head>> {
        let mut bytes = [0; SIZE];
        match file.read_at(&mut bytes, 0)? {
            0 => return Ok(None),
            SIZE => {}
            _ => return Err(damaged()),
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
        let mut words = text.split_ascii_whitespace();
        let mut number = || words.next().and_then(|word| word.parse().ok()).ok_or_else(damaged);
        let (segment, last, length) = (number()?, number()?, number()?);
        let hash = words.next().filter(|hash| hash.len() == 64).ok_or_else(damaged)?.to_owned();
        Ok(Some(Head { segment, number: last, length, hash }))
    }

    pub fn write(&self, file: &File) -> io::Result<()> {
        let text = format!("{:020} {:020} {:020} {}\n", self.segment, self.number, self.length, self.hash);
        file.write_all_at(text.as_bytes(), 0)
    }

    /// Reads the head of a log without writing to it, and how long its current file is at that moment. `None` if there is no log.
    pub fn of_ambient(directory: &Path) -> io::Result<Option<(Head, u64)>> {
        let file = match File::open(directory.join(NAME)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let _turn = Turn::take(&file)?;
        let Some(head) = Head::read(&file)? else { return Ok(None) };
        let length = std::fs::metadata(directory.join(file_name(head.segment))).map_or(0, |found| found.len());
        Ok(Some((head, length)))
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the head of the audit log is damaged")
}

/// The turn of one writer.
pub struct Turn<'a>(&'a File);

impl Turn<'_> {
    pub fn take(file: &File) -> io::Result<Turn<'_>> {
        let began = Instant::now();
        loop {
            match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Turn(file)),
                Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => std::thread::sleep(Duration::from_micros(100)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}
