//! The lines of one file that match.

use std::io;

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use serde::{Deserialize, Serialize};
use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, File, IoError};

use super::excerpt;
use super::long_lines::LongLines;

/// What is read at first: most files end within it. The same as one WASI read returns at most.
const FIRST: usize = 64 << 10;

/// The longest line that is held as a whole; longer ones are searched as they pass by. An instance has 64 MiB.
const LONGEST_HELD: usize = 4 << 20;

/// A larger automaton is refused: the pattern decides its size, and it has to be made in every part of the work.
const PATTERN_BYTES: usize = 4 << 20;

/// What to look for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Query {
    pub pattern: String,
    pub ignore_case: bool,
}

/// One line.
#[derive(Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Match {
    /// Relative to the root of the archive.
    pub file: String,
    /// The first line is 1.
    pub line_number: u64,
    /// The line without its end; of a long one the part around the match.
    pub line_content: String,
}

/// The matching lines of one file: all are counted, the first ones kept.
#[derive(Debug)]
pub struct Hits {
    pub kept: Vec<(u64, String)>,
    pub total: u64,
    most: usize,
}

impl Hits {
    pub fn keeping(most: usize) -> Hits {
        Hits { kept: Vec::new(), total: 0, most }
    }

    /// Counts a line. Its text is only made if it is kept.
    pub fn add(&mut self, number: u64, text: impl FnOnce() -> String) {
        self.total += 1;
        if self.kept.len() < self.most {
            self.kept.push((number, text()));
        }
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.total = 0;
    }
}

/// How searching a file ended.
#[derive(Debug, PartialEq)]
pub enum Ended {
    Searched,
    /// It has a NUL byte, so it is no text.
    Binary,
    /// It could not be searched, and why.
    Skipped(&'static str),
}

/// A query that can be asked of many files.
pub struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    query: Query,
    long_lines: Option<LongLines>,
}

impl Search {
    pub fn new(query: &Query) -> Result<Search, Error> {
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(query.ignore_case)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .crlf(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build(&query.pattern)
            .map_err(|error| invalid_pattern(&error.to_string()))?;
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_terminator(grep_matcher::LineTerminator::crlf())
            .heap_limit(Some(LONGEST_HELD))
            .line_number(true)
            .build();
        Ok(Search { matcher, searcher, query: query.clone(), long_lines: None })
    }

    /// Searches a file. The hits count only if it turns out to be text.
    pub fn file(&mut self, workspace: &Dir, path: &str, hits: &mut Hits) -> Result<Ended, Error> {
        let file = match workspace.open_file(path) {
            Ok(file) => file,
            // Removed or made unreadable by another program since its name was read.
            Err(IoError::NotFound) => return Ok(Ended::Searched),
            Err(IoError::NotPermitted) => return Ok(Ended::Skipped("it may not be read")),
            Err(error) => return Err(error.at(path)),
        };
        let first = file.read_chunk(0, FIRST).map_err(|error| error.at(path))?;
        let whole = first.len() < FIRST;
        let mut sink = Lines { matcher: &self.matcher, hits, binary: false };
        let searched = if whole {
            if memchr::memchr(0, &first).is_some() && !has_wide_mark(&first) {
                return Ok(Ended::Binary);
            }
            self.searcher.search_slice(&self.matcher, &first, &mut sink)
        } else {
            let reader = Reader { first: &first, file: &file, offset: 0 };
            self.searcher.search_reader(&self.matcher, reader, &mut sink)
        };
        match searched {
            Ok(()) if sink.binary => Ok(Ended::Binary),
            Ok(()) => Ok(Ended::Searched),
            Err(Stopped::LineTooLong) => {
                hits.clear();
                self.long_lines()?.search(&file, hits).map_err(|error| error.at(path))
            }
            Err(Stopped::Io(error)) => Err(error.at(path)),
        }
    }

    fn long_lines(&mut self) -> Result<&mut LongLines, Error> {
        if self.long_lines.is_none() {
            self.long_lines = Some(LongLines::new(&self.query).map_err(|why| invalid_pattern(&why))?);
        }
        self.long_lines.as_mut().ok_or_else(|| Error::internal("INTERNAL_ERROR", "What was just made is gone."))
    }
}

fn invalid_pattern(why: &str) -> Error {
    // The parser draws the place over several lines; its last line says what is wrong.
    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Error::invalid("INVALID_PARAMS", format!("Invalid argument 'pattern': {why}."))
        .suggest("It is a regular expression without look-around and back references; escape ( ) [ ] { } . * + ? ^ $ | with \\ to mean them.")
}

/// Text of two bytes a character says so at its beginning, and is searched as text.
fn has_wide_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Why a search ended early.
enum Stopped {
    LineTooLong,
    Io(IoError),
}

impl grep_searcher::SinkError for Stopped {
    fn error_message<T: std::fmt::Display>(_: T) -> Stopped {
        // The one message of the searcher itself is that a line does not fit.
        Stopped::LineTooLong
    }

    fn error_io(error: io::Error) -> Stopped {
        match error.downcast::<Failed>() {
            Ok(Failed(error)) => Stopped::Io(error),
            Err(_) => Stopped::LineTooLong,
        }
    }
}

/// An error of the workspace on its way through `std::io`.
#[derive(Debug)]
struct Failed(IoError);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Failed {}

struct Lines<'a> {
    matcher: &'a RegexMatcher,
    hits: &'a mut Hits,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = Stopped;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> Result<bool, Stopped> {
        let line = matched.bytes();
        let matcher = self.matcher;
        self.hits.add(matched.line_number().unwrap_or(0), || {
            // Where in the line matters only if not all of it is shown.
            let is_long = line.len() > excerpt::MOST;
            let found = if is_long { matcher.find(line).ok().flatten() } else { None };
            excerpt::of(line, found.map_or(0, |found| found.start()))
        });
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Stopped> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Stopped> {
        self.binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file from its beginning, of which the first piece was read before.
struct Reader<'a> {
    first: &'a [u8],
    file: &'a File,
    offset: u64,
}

impl io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let copy = |bytes: &[u8], buffer: &mut [u8]| {
            let len = bytes.len().min(buffer.len());
            buffer[..len].copy_from_slice(&bytes[..len]);
            len
        };
        let len = match self.first.get(self.offset as usize..) {
            Some(rest) if !rest.is_empty() => copy(rest, buffer),
            _ => {
                let chunk = self.file.read_chunk(self.offset, buffer.len()).map_err(|error| io::Error::other(Failed(error)))?;
                copy(&chunk, buffer)
            }
        };
        self.offset += len as u64;
        Ok(len)
    }
}
