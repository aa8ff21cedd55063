//! The log as it lies on disk: its files in order, and their lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::head::Head;
use super::line::digest;

/// Nothing that is longer can be a line of ours.
const MOST_LINE: usize = 64 << 10;

pub fn file_name(segment: u64) -> String {
    format!("{segment:020}.jsonl")
}

/// The files of a log with the numbers of their first lines, oldest first.
pub fn files(directory: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(number) = name.strip_suffix(".jsonl").filter(|digits| digits.len() == 20)
            && let Ok(number) = number.parse()
        {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The number of a line and the hash that it has of the one before. `None` if it is no line of ours.
pub fn place_of(line: &[u8]) -> Option<(u64, String)> {
    #[derive(Deserialize)]
    struct Place {
        seq: u64,
        prev_hash: String,
    }
    let place: Place = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    Some((place.seq, place.prev_hash))
}

/// The lines of one file, one after the other, without holding more than one.
pub struct Lines {
    reader: io::Take<BufReader<File>>,
    number: u64,
}

impl Lines {
    /// Up to `most` bytes of the file: what comes after that is being written while we read.
    pub fn open(path: &Path, most: u64) -> io::Result<Lines> {
        Ok(Lines { reader: BufReader::with_capacity(1 << 16, File::open(path)?).take(most), number: 0 })
    }
}

impl Iterator for Lines {
    /// Its number in the file, from one, and its bytes with the newline.
    type Item = io::Result<(u64, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        self.number += 1;
        match self.reader.by_ref().take(MOST_LINE as u64).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) => Some(Ok((self.number, line))),
            Err(error) => Some(Err(error)),
        }
    }
}

/// Where the lines end, found by reading the last file.
pub fn end_of_lines(directory: &Path) -> io::Result<Head> {
    let Some((segment, path)) = files(directory)?.pop() else { return Ok(Head::beginning()) };
    let mut end = Head { segment, number: segment - 1, ..Head::beginning() };
    for line in Lines::open(&path, u64::MAX)? {
        let (_, line) = line?;
        let Some((number, _)) = place_of(&line) else { break };
        end.number = number;
        end.length += line.len() as u64;
        end.hash = digest(&line);
    }
    Ok(end)
}
