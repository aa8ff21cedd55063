//! The matching lines of a block of whole lines.
//!
//! Most lines are never looked at: the scanner goes through the block for what a match must contain, and only the line around it is
//! tried with the pattern. Where that does not help, the pattern itself goes through the block.

use std::cell::OnceCell;
use std::ops::Range;

use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::Look;
use zipfs_sdk::Error;

use super::ascii::AsciiLines;
use super::excerpt;
use super::lines::{Hits, Query};
use super::long_lines::LongLines;
use super::needles::Needles;
use super::scan::Scanner;

/// A larger automaton is refused: the pattern decides its size, and it has to be made in every part of the work.
pub const PATTERN_BYTES: usize = 4 << 20;

/// Deeper nesting is refused, as the matcher does.
const MOST_NESTED: u32 = 250;

/// As long as there are no more lines with a needle and no match than that, nothing is concluded.
const FEW_MISSES: usize = 64;

/// If they are that close, in bytes, the pattern alone is faster.
const CLOSE: usize = 64;

/// Finds the lines for one query. The parts of it are made when they are needed: a pattern can take longer to compile than a file
/// to search.
pub struct Finder {
    query: Query,
    /// Whether the pattern is about the beginning or end of the whole text.
    pub is_about_text: bool,
    scanner: Option<Scanner>,
    /// Whether a line with a needle needs no further trial.
    needles_suffice: bool,
    ascii: Option<AsciiLines>,
    matcher: OnceCell<RegexMatcher>,
    automaton: Option<LongLines>,
    /// The number of the next line.
    number: u64,
    /// Whether the needles are too common in this file.
    needles_are_common: bool,
}

impl Finder {
    pub fn new(query: &Query) -> Result<Finder, Error> {
        let pattern = regex_syntax::ParserBuilder::new()
            .nest_limit(MOST_NESTED)
            .utf8(false)
            .case_insensitive(query.ignore_case)
            .multi_line(true)
            .crlf(true)
            .build()
            // In parentheses, as the matcher has it.
            .parse(&format!("(?:{})", query.pattern))
            .map_err(|error| invalid_pattern(&error.to_string()))?;
        let looks = pattern.properties().look_set();
        let is_about_text = looks.contains_anchor_haystack();
        // `(?-R)` lets `$` look at a return before the end of a line, which a line that is tried alone does not have.
        let sees_returns = looks.contains(Look::EndLF) || looks.contains(Look::StartLF);
        let needles = Needles::of(&pattern);
        let scanner = needles.as_ref().filter(|_| !sees_returns).and_then(Scanner::new);
        let needles_suffice = needles.is_some_and(|needles| needles.suffice);
        let ascii = if scanner.is_some() && !needles_suffice && !is_about_text { AsciiLines::new(&pattern) } else { None };
        Ok(Finder {
            query: query.clone(),
            is_about_text,
            scanner,
            needles_suffice,
            ascii,
            matcher: OnceCell::new(),
            automaton: None,
            number: 1,
            needles_are_common: false,
        })
    }

    /// The pattern itself.
    pub fn matcher(&self) -> Result<&RegexMatcher, Error> {
        if self.matcher.get().is_none() {
            let matcher = RegexMatcherBuilder::new()
                .case_insensitive(self.query.ignore_case)
                .multi_line(true)
                .line_terminator(Some(b'\n'))
                .crlf(true)
                .size_limit(PATTERN_BYTES)
                .dfa_size_limit(PATTERN_BYTES)
                .build(&self.query.pattern)
                .map_err(|error| invalid_pattern(&error.to_string()))?;
            // Nobody was quicker: there is one thread.
            let _ = self.matcher.set(matcher);
        }
        self.matcher.get().ok_or_else(gone)
    }

    /// The pattern as an automaton that can be fed.
    pub fn long_lines(&mut self) -> Result<&mut LongLines, Error> {
        if self.automaton.is_none() {
            self.automaton = Some(LongLines::new(&self.query).map_err(|why| invalid_pattern(&why))?);
        }
        self.automaton.as_mut().ok_or_else(gone)
    }

    /// Begins a file.
    pub fn begin(&mut self) {
        self.number = 1;
        self.needles_are_common = false;
    }

    /// Searches the next lines of a file, all of them whole.
    pub fn search(&mut self, lines: &[u8], hits: &mut Hits) -> Result<(), Error> {
        let (mut at, mut numbered) = (0, 0);
        while let Some(found) = self.next(lines, at)? {
            if hits.keeps() {
                self.number += ends_in(&lines[numbered..found.start]);
                numbered = found.start;
                let line = &lines[found.clone()];
                let matcher = if line.len() > excerpt::MOST { Some(self.matcher()?) } else { None };
                hits.add(self.number, || excerpt::around(line, |line| matcher.and_then(|matcher| place(matcher, line))));
            } else {
                hits.total += 1;
            }
            at = found.end;
        }
        if hits.keeps() {
            self.number += ends_in(&lines[numbered..]);
        }
        Ok(())
    }

    /// The next line that matches, from the beginning of a line on.
    fn next(&mut self, lines: &[u8], from: usize) -> Result<Option<Range<usize>>, Error> {
        let (mut at, mut misses) = (from, 0);
        while let Some(scanner) = self.scanner.as_ref().filter(|_| !self.needles_are_common) {
            let Some(found) = scanner.find(lines, at) else { return Ok(None) };
            let line = line_at(lines, at, found);
            if self.needles_suffice || self.matches(excerpt::without_end(&lines[line.clone()]))? {
                return Ok(Some(line));
            }
            at = line.end;
            misses += 1;
            self.needles_are_common = misses > FEW_MISSES && at - from < misses * CLOSE;
        }
        let matcher = self.matcher()?;
        while at < lines.len() {
            let (found, is_sure) = match matcher.find_candidate_line(&lines[at..]) {
                Ok(Some(LineMatchKind::Confirmed(found))) => (at + found, true),
                Ok(Some(LineMatchKind::Candidate(found))) => (at + found, false),
                Ok(None) | Err(_) => return Ok(None),
            };
            let line = line_at(lines, at, found);
            // A match of nothing, behind the last line.
            if line.is_empty() {
                return Ok(None);
            }
            if is_sure || matcher.is_match(excerpt::without_end(&lines[line.clone()])).unwrap_or(false) {
                return Ok(Some(line));
            }
            at = line.end;
        }
        Ok(None)
    }

    fn matches(&mut self, line: &[u8]) -> Result<bool, Error> {
        if line.is_ascii()
            && let Some(answer) = self.ascii.as_mut().and_then(|ascii| ascii.matches(line))
        {
            return Ok(answer);
        }
        // A return within a line is in no match, which this automaton does not know.
        if memchr::memchr(b'\r', line).is_none()
            && let Ok(automaton) = self.long_lines()
            && let Some(answer) = automaton.matches(line)
        {
            return Ok(answer);
        }
        Ok(self.matcher()?.is_match(line).unwrap_or(false))
    }
}

/// Where in a line the match begins.
pub fn place(matcher: &RegexMatcher, line: &[u8]) -> Option<usize> {
    matcher.find(line).ok().flatten().map(|found| found.start())
}

/// The line with the byte at `at`, with its end. No line begins before `from`.
fn line_at(lines: &[u8], from: usize, at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &lines[from..at]).map_or(from, |end| from + end + 1);
    let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end + 1);
    start..end
}

fn ends_in(lines: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', lines).count() as u64
}

fn gone() -> Error {
    Error::internal("INTERNAL_ERROR", "What was just made is gone.")
}

fn invalid_pattern(why: &str) -> Error {
    // The parser draws the place over several lines; its last line says what is wrong.
    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
    Error::invalid("INVALID_PARAMS", format!("Invalid argument 'pattern': {why}."))
        .suggest("It is a regular expression without look-around and back references; escape ( ) [ ] { } . * + ? ^ $ | with \\ to mean them.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The numbers of the lines, found by trying every line with an engine of its own.
    fn naive(query: &Query, text: &str) -> Option<Vec<u64>> {
        let pattern = regex::bytes::RegexBuilder::new(&query.pattern)
            .case_insensitive(query.ignore_case)
            .multi_line(true)
            .crlf(true)
            .build()
            .ok()?;
        let lines = text.split_inclusive('\n').zip(1..);
        let matching = lines.filter(|(line, _)| pattern.is_match(excerpt::without_end(line.as_bytes())));
        Some(matching.map(|(_, number)| number).collect())
    }

    fn compare(query: &Query, text: &str) {
        let Some(expected) = naive(query, text) else { return };
        // What is about line ends or about the whole text is refused, or goes another way.
        let Ok(mut finder) = Finder::new(query) else { return };
        if finder.is_about_text || finder.matcher().is_err() {
            return;
        }
        for most in [usize::MAX, 1] {
            let mut hits = Hits::keeping(most);
            finder.begin();
            // In two blocks, as a large file comes.
            let text = text.as_bytes();
            let middle = memchr::memrchr(b'\n', &text[..text.len() / 2]).map_or(0, |end| end + 1);
            finder.search(&text[..middle], &mut hits).unwrap();
            finder.search(&text[middle..], &mut hits).unwrap();
            let numbers: Vec<u64> = hits.kept.iter().map(|(number, _)| *number).collect();
            let shown = String::from_utf8_lossy(text);
            assert_eq!(hits.total, expected.len() as u64, "{query:?} in {shown:?}");
            assert_eq!(numbers, expected[..expected.len().min(most)], "{query:?} in {shown:?}");
        }
    }

    const WORDS: [&str; 16] =
        ["needle", "Needle", "foo_bar", "Mutex", "quux", "fn ", "a_b(", "\n", "\r\n", "é", "K", "ſ", "x", "  ", "overflow", "_"];

    const PATTERNS: [&str; 30] = [
        "needle",
        "foo_bar|Mutex|quux",
        r"fn \w+_\w+\(",
        "overflow",
        "^needle",
        "needle$",
        "^$",
        r"\bx\b",
        r"\Bx",
        "x{2,3}",
        "k",
        "s",
        r"\s_",
        "[^x]_$",
        "(needle|x)+ ",
        "n.*e",
        "é",
        r"\w+é",
        "x?_",
        "(?-u:\\xc3)",
        "^(fn |_)",
        "_|^$",
        "Mutex|x*",
        r"(?i:MUTEX)x",
        "(?x) needle # a comment",
        "a_b\\(|overflow$",
        ")(",
        "[_x]{3}",
        "",
        "needle.?needle",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn lines_are_the_ones_that_trying_each_finds(
            pattern in 0..PATTERNS.len(),
            ignore_case in any::<bool>(),
            words in proptest::collection::vec(0..WORDS.len(), 0..200),
        ) {
            let query = Query { pattern: PATTERNS[pattern].to_owned(), ignore_case };
            compare(&query, &words.iter().map(|&word| WORDS[word]).collect::<String>());
        }

        #[test]
        fn patterns_of_all_kinds_find_what_trying_each_line_finds(
            pattern in "[a-c_x]{0,3}(\\(?[a-c]\\||[.?*+^$]|\\[[a-cx^]{1,3}\\]|\\\\[bwWs]|\\{1,2\\}|[a-cA-Cé]){0,8}\\)?",
            ignore_case in any::<bool>(),
            text in "([a-cA-Cx_é \n]{0,9}(abc|\r\n)?){0,30}",
        ) {
            // A return in the middle of a line is in no match; that is this matcher's rule and no other's.
            let text = text.replace("\r\n", "\u{1}").replace('\r', "").replace('\u{1}', "\r\n");
            compare(&Query { pattern, ignore_case }, &text);
        }
    }

    #[test]
    fn common_needles_leave_the_block_to_the_pattern() {
        let text = "fnx fnx fn\n".repeat(5000) + "fn a_b(\n" + &"fn \n".repeat(5000);
        let query = Query { pattern: r"fn \w+_\w+\(".to_owned(), ignore_case: false };
        compare(&query, &text);
        let mut finder = Finder::new(&query).unwrap();
        let mut hits = Hits::keeping(9);
        finder.search(text.as_bytes(), &mut hits).unwrap();
        assert_eq!(hits.kept, [(5001, "fn a_b(".to_owned())]);
        assert!(finder.scanner.is_some() && finder.needles_are_common);
    }

    #[test]
    fn a_return_is_seen_by_who_asks_for_it() {
        for (pattern, expected) in [("needle$", 2), ("(?-R)needle$", 1)] {
            let mut finder = Finder::new(&Query { pattern: pattern.to_owned(), ignore_case: false }).unwrap();
            let mut hits = Hits::keeping(9);
            finder.search(b"needle\r\nneedle\n", &mut hits).unwrap();
            assert_eq!(hits.total, expected, "{pattern}");
        }
    }

    #[test]
    fn a_plain_needle_needs_no_automaton() {
        for (pattern, ignore_case) in [("needle", false), ("NEEDLE", true), ("foo|bar|quux", true)] {
            let mut finder = Finder::new(&Query { pattern: pattern.to_owned(), ignore_case }).unwrap();
            let mut hits = Hits::keeping(9);
            finder.search(b"needle foo\nbar needle\nnothing\n", &mut hits).unwrap();
            assert_eq!(hits.total, 2, "{pattern}");
            assert!(finder.matcher.get().is_none() && finder.automaton.is_none(), "{pattern}");
        }
    }
}
