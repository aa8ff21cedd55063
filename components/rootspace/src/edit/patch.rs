//! A unified diff, applied exactly where it says, or not at all.

use memchr::memchr;

use super::diff::{Kind, Op};
use super::{Edit, Hunk, Output, Patch, Problem};
use crate::lines::LF;

/// The hunks that are left, and where the file is.
pub struct PatchEdit {
    hunks: std::vec::IntoIter<Hunk>,
    hunk: Option<Current>,
    line: u64,
    line_start: u64,
    at: u64,
    /// The line of the file that is compared now: which one was wanted, and how much of it came.
    comparing: Option<(Op, usize)>,
    /// Something was written that has to be the end of the file.
    closed: Option<u64>,
}

struct Current {
    header: (u64, u64),
    begin: u64,
    ops: std::vec::IntoIter<Op>,
}

impl PatchEdit {
    pub fn new(patch: Patch) -> PatchEdit {
        let mut hunks = patch.hunks.into_iter();
        let hunk = hunks.next().map(Current::from);
        PatchEdit { hunks, hunk, line: 1, line_start: 0, at: 0, comparing: None, closed: None }
    }

    /// Writes the lines that are added before the current line, and takes the next line to compare with it.
    fn begin_line(&mut self, output: &mut Output<'_>) -> Result<(), Problem> {
        while let Some(hunk) = &mut self.hunk {
            if hunk.begin > self.line {
                return Ok(());
            }
            match hunk.ops.next() {
                None => self.hunk = self.hunks.next().map(Current::from),
                Some(op) if op.kind == Kind::Add => self.add(&op, output)?,
                Some(op) => {
                    let keeps = op.kind == Kind::Keep;
                    self.comparing = Some((op, 0));
                    return if keeps { self.check_open(output) } else { Ok(()) };
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, op: &Op, output: &mut Output<'_>) -> Result<(), Problem> {
        self.check_open(output)?;
        output.put(op.text.as_bytes());
        match op.unterminated {
            true => self.closed = Some(self.line),
            false => output.put(&[LF]),
        }
        Ok(())
    }

    /// Nothing may follow a line without a line end.
    fn check_open(&self, output: &Output<'_>) -> Result<(), Problem> {
        match self.closed {
            Some(line) => Err(Problem::LineEnd { line, file_has_it: true }),
            None if output.is_in_line() => Err(Problem::LineEnd { line: self.line - 1, file_has_it: false }),
            None => Ok(()),
        }
    }

    /// Takes the part of a line that is in this piece, `ends` if its line end is.
    fn take(&mut self, text: &[u8], ends: bool, output: &mut Output<'_>) -> Result<(), Problem> {
        let Some((op, matched)) = &mut self.comparing else {
            if self.closed.is_some() {
                self.check_open(output)?;
            }
            output.put(text);
            if ends {
                output.put(&[LF]);
            }
            return Ok(());
        };
        let wanted = op.text.as_bytes();
        if !wanted[*matched..].starts_with(text) || (ends && *matched + text.len() < wanted.len()) {
            let wanted = wanted.to_vec();
            return Err(Problem::Differs { line: self.line, start: self.line_start, wanted, argument: "patch" });
        }
        *matched += text.len();
        if ends && op.unterminated {
            return Err(Problem::LineEnd { line: self.line, file_has_it: true });
        }
        if op.kind == Kind::Keep {
            output.put(text);
            if ends {
                output.put(&[LF]);
            }
        }
        Ok(())
    }

    /// The last line has no line end: is it as the patch says?
    fn end_open_line(&mut self) -> Result<(), Problem> {
        if let Some((op, matched)) = self.comparing.take() {
            if matched < op.text.len() {
                let wanted = op.text.into_bytes();
                return Err(Problem::Differs { line: self.line, start: self.line_start, wanted, argument: "patch" });
            }
            if !op.unterminated {
                return Err(Problem::LineEnd { line: self.line, file_has_it: false });
            }
        }
        self.line += 1;
        Ok(())
    }
}

impl Edit for PatchEdit {
    fn feed(&mut self, chunk: &[u8], output: &mut Output<'_>) -> Result<(), Problem> {
        let mut rest = chunk;
        while !rest.is_empty() {
            if self.at == self.line_start {
                self.begin_line(output)?;
            }
            let end = memchr(LF, rest);
            self.take(&rest[..end.unwrap_or(rest.len())], end.is_some(), output)?;
            let length = end.map_or(rest.len(), |at| at + 1);
            self.at += length as u64;
            rest = &rest[length..];
            if end.is_some() {
                self.comparing = None;
                (self.line, self.line_start) = (self.line + 1, self.at);
            }
        }
        Ok(())
    }

    fn finish(&mut self, output: &mut Output<'_>) -> Result<(), Problem> {
        if self.at > self.line_start {
            self.end_open_line()?;
        }
        let total = self.line - 1;
        self.begin_line(output)?;
        if let Some((op, _)) = self.comparing.take() {
            return Err(Problem::Ended { line: self.line, wanted: op.text.into_bytes(), argument: "patch" });
        }
        match &self.hunk {
            Some(hunk) => Err(Problem::HunkBehindEnd { header: hunk.header, total }),
            None => Ok(()),
        }
    }
}

impl From<Hunk> for Current {
    fn from(hunk: Hunk) -> Current {
        Current { header: hunk.header, begin: hunk.begin, ops: hunk.ops.into_iter() }
    }
}
