//! Whole lines, found by their text in a range, and others in their place.

use super::problem::MOST_NAMED;
use super::{Edit, Output, Problem};
use crate::lines::{Bounds, Finder, LF, Match, without_final_lf};

/// What to look for and what comes in its place.
pub struct Replace {
    finder: Finder,
    old: Vec<u8>,
    /// `None` takes the lines away.
    new: Option<Vec<u8>>,
    /// Bytes that went by and may still be taken out. Ends with those of a match that is under way.
    held: Vec<u8>,
    held_from: u64,
    inside: Places,
    outside: Places,
    /// Bytes of the file so far.
    at: u64,
}

/// Places that were found: the first are kept, the rest is counted. A file of empty lines can match millions of times.
#[derive(Default)]
struct Places {
    first: Vec<Match>,
    more: u64,
}

impl Places {
    fn note(&mut self, found: Match) {
        if self.first.len() < MOST_NAMED {
            self.first.push(found);
        } else {
            self.more += 1;
        }
    }

    fn lines(&self) -> Vec<u64> {
        self.first.iter().map(|found| found.line).collect()
    }
}

impl Replace {
    /// Replaces the only place in the range where the lines of `old` are. An empty `new` takes them away.
    pub fn new(old: &str, new: &str, bounds: Bounds) -> Replace {
        let old = without_final_lf(old).as_bytes().to_vec();
        let new = (!new.is_empty()).then(|| without_final_lf(new).as_bytes().to_vec());
        let finder = Finder::new(&old, bounds);
        let (inside, outside) = (Places::default(), Places::default());
        Replace { finder, old, new, held: Vec::new(), held_from: 0, inside, outside, at: 0 }
    }

    /// Searches, and makes the change at the first place in the range.
    fn search(&mut self, run: impl FnOnce(&mut Finder, &mut dyn FnMut(Match)), output: &mut Output<'_>) {
        let was_found = !self.inside.first.is_empty();
        let (inside, outside) = (&mut self.inside, &mut self.outside);
        run(&mut self.finder, &mut |found| match found.in_range {
            true => inside.note(found),
            false => outside.note(found),
        });
        if let (false, Some(first)) = (was_found, self.inside.first.first().copied()) {
            self.change(first, output);
        }
    }

    fn change(&mut self, found: Match, output: &mut Output<'_>) {
        let mut start = (found.start - self.held_from) as usize;
        let mut end = start + self.old.len();
        let is_last = found.end > self.at;
        match &self.new {
            Some(new) => {
                output.put(&self.held[..start]);
                output.put(new);
            }
            None => {
                match is_last {
                    // The line before it is the last now, and has no line end either.
                    true => start = start.saturating_sub(1),
                    false => end += 1,
                }
                output.put(&self.held[..start]);
            }
        }
        self.held.drain(..end);
        self.held_from += end as u64;
    }

    /// Passes on what no match can take out any more.
    fn release(&mut self, output: &mut Output<'_>) {
        let pending = if self.inside.first.is_empty() { self.finder.pending() } else { 0 };
        let sure = self.held.len().saturating_sub(pending);
        output.put(&self.held[..sure]);
        self.held.drain(..sure);
        self.held_from += sure as u64;
    }
}

impl Edit for Replace {
    fn feed(&mut self, chunk: &[u8], output: &mut Output<'_>) -> Result<(), Problem> {
        self.held.extend_from_slice(chunk);
        self.at += chunk.len() as u64;
        self.search(|finder, found| finder.feed(chunk, found), output);
        self.release(output);
        Ok(())
    }

    fn finish(&mut self, output: &mut Output<'_>) -> Result<(), Problem> {
        self.search(|finder, found| finder.finish(found), output);
        let total = self.finder.lines();
        match (self.inside.first.len(), self.outside.first.len()) {
            (1, _) => {
                output.put(&self.held);
                return Ok(());
            }
            (2.., _) => return Err(Problem::NotUnique { lines: self.inside.lines(), more: self.inside.more }),
            (0, _) if !self.finder.range_has_lines() => return Err(Problem::EmptyRange { total }),
            (0, 1..) => return Err(Problem::Elsewhere { lines: self.outside.lines(), more: self.outside.more }),
            (0, 0) => {}
        }
        let Some(near) = self.finder.near() else { return Err(Problem::EmptyRange { total }) };
        let wanted = self.old.split(|byte| *byte == LF).nth(near.wanted).unwrap_or_default().to_vec();
        Err(match near.line > total {
            true => Problem::Ended { line: near.line, wanted, argument: "old" },
            false => Problem::Differs { line: near.line, start: near.start, wanted, argument: "old" },
        })
    }
}
