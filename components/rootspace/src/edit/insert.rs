//! New lines before a line that is known by its number and its text.

use memchr::memchr;

use super::{Edit, Output, Problem};
use crate::lines::{Bound, LF};

/// What to insert, and where the file is.
pub struct Insert {
    place: Bound,
    /// As the agent gave it, for messages.
    asked: i64,
    anchor: Vec<u8>,
    content: Vec<u8>,
    stage: Stage,
    line: u64,
    line_start: u64,
    at: u64,
}

enum Stage {
    /// The line has not come yet.
    Before,
    /// So much of the line is the anchor.
    Within(usize),
    After,
}

impl Insert {
    /// Inserts `content`, which gets a line end if it has none, before the line at `place`, which must say `anchor`.
    pub fn new(place: Bound, asked: i64, anchor: &str, content: &str) -> Insert {
        let mut content = content.as_bytes().to_vec();
        if content.last() != Some(&LF) {
            content.push(LF);
        }
        let anchor = anchor.as_bytes().to_vec();
        Insert { place, asked, anchor, content, stage: Stage::Before, line: 1, line_start: 0, at: 0 }
    }

    fn differs(&self) -> Problem {
        Problem::Differs { line: self.line, start: self.line_start, wanted: self.anchor.clone(), argument: "anchor" }
    }

    /// Passes on what comes before the line; returns the rest of the piece once it has come.
    fn skip<'a>(&mut self, mut chunk: &'a [u8], output: &mut Output<'_>) -> &'a [u8] {
        while !chunk.is_empty() {
            if self.at == self.line_start && self.place.is_reached(self.line, self.line_start) {
                output.put(&self.content);
                self.stage = Stage::Within(0);
                break;
            }
            let end = memchr(LF, chunk).map_or(chunk.len(), |at| at + 1);
            output.put(&chunk[..end]);
            self.at += end as u64;
            if chunk[end - 1] == LF {
                (self.line, self.line_start) = (self.line + 1, self.at);
            }
            chunk = &chunk[end..];
        }
        chunk
    }

    /// Compares the line with the anchor; returns the rest of the piece behind the line.
    fn compare<'a>(&mut self, matched: usize, chunk: &'a [u8], output: &mut Output<'_>) -> Result<&'a [u8], Problem> {
        let end = memchr(LF, chunk);
        let text = &chunk[..end.unwrap_or(chunk.len())];
        if !self.anchor[matched..].starts_with(text) {
            return Err(self.differs());
        }
        let matched = matched + text.len();
        self.stage = Stage::Within(matched);
        output.put(text);
        let Some(end) = end else { return Ok(&[]) };
        if matched < self.anchor.len() {
            return Err(self.differs());
        }
        self.stage = Stage::After;
        Ok(&chunk[end..])
    }
}

impl Edit for Insert {
    fn feed(&mut self, chunk: &[u8], output: &mut Output<'_>) -> Result<(), Problem> {
        let mut rest = chunk;
        if let Stage::Before = self.stage {
            rest = self.skip(rest, output);
        }
        if let Stage::Within(matched) = self.stage {
            rest = self.compare(matched, rest, output)?;
        }
        output.put(rest);
        Ok(())
    }

    fn finish(&mut self, _: &mut Output<'_>) -> Result<(), Problem> {
        match self.stage {
            Stage::Before => {
                let total = self.line - u64::from(self.at == self.line_start);
                Err(Problem::NoSuchLine { line: self.asked, total })
            }
            Stage::Within(matched) if matched < self.anchor.len() => Err(self.differs()),
            Stage::Within(_) | Stage::After => Ok(()),
        }
    }
}
