//! Files that are not searched as they are: those that begin with a mark of their encoding, and all files for a pattern that is about
//! the whole text and not about lines. ripgrep's searcher reads, decodes and divides them.

use std::io;

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use zipfs_sdk::fs::{File, IoError};

use super::block::place;
use super::excerpt;
use super::lines::{FIRST, Hits, LONGEST_HELD};

/// Whether the text begins with a mark that says how it is encoded.
pub fn is_marked(text: &[u8]) -> bool {
    is_wide(text) || text.starts_with(b"\xef\xbb\xbf")
}

/// Text of two bytes a character says so at its beginning, and is searched as text.
fn is_wide(text: &[u8]) -> bool {
    text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff])
}

/// How it ended.
pub enum Decoded {
    Searched,
    Binary,
    LineTooLong,
}

/// Searches a file of which the first piece was read.
pub fn search(matcher: &RegexMatcher, file: &File, first: &[u8], hits: &mut Hits) -> Result<Decoded, IoError> {
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_terminator(LineTerminator::crlf())
        .heap_limit(Some(LONGEST_HELD))
        .line_number(true)
        .build();
    let mut sink = Lines { matcher, hits, binary: false };
    let searched = if first.len() < FIRST {
        if memchr::memchr(0, first).is_some() && !is_wide(first) {
            return Ok(Decoded::Binary);
        }
        searcher.search_slice(matcher, first, &mut sink)
    } else {
        searcher.search_reader(matcher, Reader { first, file, offset: 0 }, &mut sink)
    };
    match searched {
        Ok(()) if sink.binary => Ok(Decoded::Binary),
        Ok(()) => Ok(Decoded::Searched),
        Err(Stopped::LineTooLong) => Ok(Decoded::LineTooLong),
        Err(Stopped::Io(error)) => Err(error),
    }
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
        self.hits.add(matched.line_number().unwrap_or(0), || excerpt::around(line, |line| place(self.matcher, line)));
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
