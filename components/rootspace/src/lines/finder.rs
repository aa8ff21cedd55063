//! Finds one or more consecutive whole lines in a file that comes in pieces, all places at once, and remembers the nearest miss.
//!
//! The search is that of Knuth, Morris and Pratt, so its time does not depend on how often the lines nearly fit. What it looks for
//! has a line end on both sides, which makes a match whole lines; the file is read as if it had one before its first byte, and one
//! after its last.

use memchr::memchr;

use super::{Bounds, LF};

/// The search and where it stands.
pub struct Finder {
    needle: Vec<u8>,
    /// For each length of a part found: how much of it may be the beginning of another.
    borders: Vec<u32>,
    /// Where the line ends are in the needle.
    breaks: Vec<u32>,
    /// How much of the needle the last bytes are.
    state: usize,
    at: u64,
    line: u64,
    line_start: u64,
    fresh: bool,
    bounds: Bounds,
    range_has_lines: bool,
    near: Option<Near>,
}

/// A place where the lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// The number of the first line.
    pub line: u64,
    /// Where it begins.
    pub start: u64,
    /// Behind the line end of the last line; one past the end of a file that does not end in one.
    pub end: u64,
    pub in_range: bool,
}

/// The place in the range where most of the lines was found before something else came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    matched: usize,
    /// The line that differs; one more than there are if the file ended.
    pub line: u64,
    /// Where it begins.
    pub start: u64,
    /// Which of the lines looked for it should have been, from 0.
    pub wanted: usize,
}

impl Finder {
    /// Looks for these lines, without the line end of the last.
    pub fn new(lines: &[u8], bounds: Bounds) -> Finder {
        let needle = [&[LF], lines, &[LF]].concat();
        let breaks = memchr::memchr_iter(LF, &needle).map(|at| at as u32).collect();
        let borders = borders(&needle);
        // The line end before the first byte.
        let state = 1;
        Finder {
            needle,
            borders,
            breaks,
            state,
            at: 0,
            line: 1,
            line_start: 0,
            fresh: true,
            bounds,
            range_has_lines: false,
            near: None,
        }
    }

    /// How many of the last bytes may belong to a match, the line end before it included.
    pub fn pending(&self) -> usize {
        self.state
    }

    /// Whether there was a line in the range.
    pub fn range_has_lines(&self) -> bool {
        self.range_has_lines
    }

    /// The nearest miss in the range.
    pub fn near(&self) -> Option<Near> {
        self.near
    }

    /// The lines that went by.
    pub fn lines(&self) -> u64 {
        self.line - 1
    }

    /// Takes the next piece and calls `found` for each match, where its last line ends.
    pub fn feed(&mut self, chunk: &[u8], mut found: impl FnMut(Match)) {
        let mut index = 0;
        while index < chunk.len() {
            if self.state == 0 {
                // Nothing can begin before the next line does.
                let Some(skipped) = memchr(LF, &chunk[index..]) else {
                    self.at += (chunk.len() - index) as u64;
                    return;
                };
                self.at += skipped as u64;
                index += skipped;
            }
            self.step(chunk[index], &mut found);
            index += 1;
        }
    }

    /// Ends the search. A last line without a line end is a line too.
    pub fn finish(&mut self, mut found: impl FnMut(Match)) {
        if self.at > self.line_start {
            self.step(LF, &mut found);
        }
        if self.state > 1 {
            self.note_miss(self.state);
        }
    }

    fn step(&mut self, byte: u8, found: &mut impl FnMut(Match)) {
        if std::mem::take(&mut self.fresh) {
            self.range_has_lines |= self.bounds.hold(self.line, self.line_start);
        }
        while self.state > 0 && self.needle[self.state] != byte {
            self.note_miss(self.state);
            self.state = self.borders[self.state - 1] as usize;
        }
        if self.needle[self.state] == byte {
            self.state += 1;
        }
        self.at += 1;
        if byte == LF {
            self.line += 1;
            self.line_start = self.at;
            self.fresh = true;
        }
        if self.state == self.needle.len() {
            found(self.matched());
            self.state = self.borders[self.state - 1] as usize;
        }
    }

    fn matched(&self) -> Match {
        let length = self.needle.len();
        let count = self.breaks.len() as u64 - 1;
        let line = self.line - count;
        let start = self.at - (length as u64 - 1);
        let before_last = self.breaks[self.breaks.len() - 2] as usize;
        let last_start = self.at - (length - before_last - 1) as u64;
        let in_range = self.bounds.hold(line, start) && !self.bounds.are_over(self.line - 1, last_start);
        Match { line, start, end: self.at, in_range }
    }

    /// `matched` bytes fitted, and the next one does not.
    fn note_miss(&mut self, matched: usize) {
        if self.near.is_some_and(|near| near.matched >= matched) {
            return;
        }
        let wanted = self.breaks.partition_point(|at| (*at as usize) < matched) - 1;
        let (line, start) = (self.line - wanted as u64, self.at - (matched as u64 - 1));
        if self.bounds.hold(line, start) && !self.bounds.are_over(self.line, self.line_start) {
            self.near = Some(Near { matched, line: self.line, start: self.line_start, wanted });
        }
    }
}

fn borders(needle: &[u8]) -> Vec<u32> {
    let mut borders = vec![0_u32; needle.len()];
    let mut length = 0;
    for index in 1..needle.len() {
        while length > 0 && needle[index] != needle[length] {
            length = borders[length - 1] as usize;
        }
        if needle[index] == needle[length] {
            length += 1;
        }
        borders[index] = length as u32;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::LineRange;
    use proptest::prelude::*;

    fn search(text: &str, lines: &str, range: [i64; 2], size: usize) -> (Vec<(u64, bool)>, Finder) {
        let bytes = text.as_bytes();
        let read = |offset: u64, len: usize| Ok(bytes[offset as usize..].iter().take(len).copied().collect());
        let bounds = LineRange(range).resolve(bytes.len() as u64, read).unwrap();
        let mut finder = Finder::new(lines.as_bytes(), bounds);
        let mut all = Vec::new();
        for chunk in bytes.chunks(size) {
            finder.feed(chunk, |found| all.push((found.line, found.in_range)));
        }
        finder.finish(|found| all.push((found.line, found.in_range)));
        (all, finder)
    }

    #[test]
    fn only_whole_lines_match() {
        let lines = |text, old| search(text, old, [1, 0], 3).0.into_iter().map(|(line, _)| line).collect::<Vec<_>>();
        assert_eq!(lines("foobar\nfoo\nbarfoo\nfoo", "foo"), [2, 4]);
        assert_eq!(lines("a\na\na\n", "a\na"), [1, 2]);
        assert_eq!(lines("a\n", ""), [] as [u64; 0]);
        assert_eq!(lines("a\n\n", ""), [2]);
        assert_eq!(lines("\n", ""), [1]);
        assert_eq!(lines("", ""), [] as [u64; 0]);
        assert_eq!(lines("a\nb\nc", "b\nc"), [2]);
    }

    #[test]
    fn the_nearest_miss_is_where_most_was_found() {
        let (_, finder) = search("one\ntwo\nthree\none\ntwo\nfour\n", "one\ntwo\nfive", [1, 0], 4);
        let near = finder.near().unwrap();
        assert_eq!((near.line, near.start, near.wanted), (6, 22, 2), "`fo` is nearer to `five` than `th`");
        let (_, finder) = search("x\ny\n", "q", [2, 0], 4);
        assert_eq!(finder.near().map(|near| near.line), Some(2), "nothing fits, so the first line of the range");
        let (_, finder) = search("one\ntwo\n", "two\nthree", [1, 0], 4);
        assert_eq!(finder.near().map(|near| (near.line, near.wanted)), Some((3, 1)), "the file ended");
    }

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            text in "[ab\n]{0,40}", lines in "[ab\n]{0,5}", start in -8_i64..9, end in -8_i64..9, size in 1_usize..9) {
            let all: Vec<&str> = match text.strip_suffix('\n').unwrap_or(&text) { "" if text.is_empty() => vec![], rest => rest.split('\n').collect() };
            let wanted: Vec<&str> = lines.split('\n').collect();
            let n = all.len() as i64;
            let from = if start == 0 { 1 } else if start > 0 { start } else { (n + 1 + start).max(1) };
            let to = if end == 0 { n + 1 } else if end > 0 { end.min(n + 1) } else { n + 1 + end };
            let expected: Vec<(u64, bool)> = (0..all.len())
                .filter(|at| all[*at..].starts_with(&wanted))
                .map(|at| (at as u64 + 1, at as i64 + 1 >= from && ((at + wanted.len()) as i64) < to.max(from)))
                .collect();
            let (found, finder) = search(&text, &lines, [start, end], size);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(finder.lines(), all.len() as u64);
            prop_assert_eq!(finder.range_has_lines(), from < to && from <= n);
        }
    }
}
