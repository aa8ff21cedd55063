//! Lines too long to hold. The automaton is fed byte by byte while the file passes by, so a line costs time and no memory.

use std::collections::VecDeque;

use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::hybrid::{LazyStateID, StartError};
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, Input};
use zipfs_sdk::fs::{File, IoError};

use super::excerpt;
use super::lines::{Ended, Hits, Query};

/// How much of a long line is shown before the end of the match.
const BEFORE: usize = 400;

const CANNOT: &str = "a line is too long for a pattern with a word boundary beside letters beyond ASCII";

/// A query, as an automaton that can stop and go on anywhere.
pub struct LongLines {
    dfa: DFA,
    cache: Cache,
}

/// Where the search is within the current line.
enum Place {
    /// It can still match.
    Open(LazyStateID),
    /// It has matched, or cannot any more.
    Decided,
}

impl LongLines {
    pub fn new(query: &Query) -> Result<LongLines, String> {
        let dfa = DFA::builder()
            .syntax(syntax::Config::new().case_insensitive(query.ignore_case).multi_line(true).crlf(true).utf8(false))
            .configure(Config::new().unicode_word_boundary(true))
            .build(&query.pattern)
            .map_err(|error| error.to_string())?;
        let cache = dfa.create_cache();
        Ok(LongLines { dfa, cache })
    }

    /// Whether a line, given without its end, matches. `None` if this automaton cannot say.
    pub fn matches(&mut self, line: &[u8]) -> Option<bool> {
        let found = self.dfa.try_search_fwd(&mut self.cache, &Input::new(line).earliest(true));
        found.ok().map(|found| found.is_some())
    }

    /// Searches a file from its beginning.
    pub fn search(&mut self, file: &File, hits: &mut Hits) -> Result<Ended, IoError> {
        let (mut offset, mut number) = (0, 1);
        let Ok(mut place) = self.begin() else { return Ok(Ended::Skipped(CANNOT)) };
        let mut before = VecDeque::with_capacity(BEFORE);
        loop {
            let mut chunk = file.read_chunk(offset, usize::MAX)?;
            if chunk.is_empty() {
                break;
            }
            // A carriage return belongs to the end of the line if that comes next, so it is left for the next chunk.
            if chunk.len() > 1 && chunk.ends_with(b"\r") {
                chunk.pop();
            }
            if memchr::memchr(0, &chunk).is_some() {
                return Ok(Ended::Binary);
            }
            offset += chunk.len() as u64;
            let mut rest = &chunk[..];
            while !rest.is_empty() {
                let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let (line, ends) = (&rest[..end], end < rest.len());
                let line = if ends { excerpt::without_end(line) } else { line };
                if let Place::Open(state) = place {
                    place = match self.feed(state, line, ends) {
                        Fed::Open(state) => Place::Open(state),
                        Fed::Dead => Place::Decided,
                        Fed::Quit => return Ok(Ended::Skipped(CANNOT)),
                        Fed::Matched(at) => {
                            hits.add(number, || shown(&before, line, at));
                            Place::Decided
                        }
                    };
                }
                if ends {
                    number += 1;
                    before.clear();
                    let Ok(next) = self.begin() else { return Ok(Ended::Skipped(CANNOT)) };
                    place = next;
                } else {
                    remember(&mut before, line);
                }
                rest = &rest[(end + 1).min(rest.len())..];
            }
        }
        if let Place::Open(state) = place
            && matches!(self.feed(state, b"", true), Fed::Matched(_))
            // A file that ends with a line end has no line after it.
            && !before.is_empty()
        {
            hits.add(number, || shown(&before, b"", 0));
        }
        Ok(Ended::Searched)
    }

    fn begin(&mut self) -> Result<Place, StartError> {
        let start = self.dfa.start_state(&mut self.cache, &start::Config::new().anchored(Anchored::No));
        start.map(Place::Open)
    }

    /// Feeds a piece of a line, and its end if this is the last piece.
    fn feed(&mut self, mut state: LazyStateID, piece: &[u8], ends: bool) -> Fed {
        for (at, &byte) in piece.iter().enumerate() {
            state = match self.dfa.next_state(&mut self.cache, state, byte) {
                Ok(next) => next,
                Err(_) => return Fed::Quit,
            };
            if state.is_tagged() {
                if state.is_match() {
                    return Fed::Matched(at);
                } else if state.is_dead() {
                    return Fed::Dead;
                } else if state.is_quit() {
                    return Fed::Quit;
                }
            }
        }
        if !ends {
            return Fed::Open(state);
        }
        match self.dfa.next_eoi_state(&mut self.cache, state) {
            Ok(last) if last.is_match() => Fed::Matched(piece.len()),
            Ok(last) if last.is_quit() => Fed::Quit,
            Ok(_) => Fed::Dead,
            Err(_) => Fed::Quit,
        }
    }
}

enum Fed {
    Open(LazyStateID),
    Dead,
    Quit,
    /// The match ends about here in the piece.
    Matched(usize),
}

fn remember(before: &mut VecDeque<u8>, piece: &[u8]) {
    let piece = &piece[piece.len().saturating_sub(BEFORE)..];
    let keep = BEFORE - piece.len();
    let surplus = before.len().saturating_sub(keep);
    before.drain(..surplus);
    before.extend(piece);
}

/// The surroundings of a match that ends at `at` in `piece`, after what is remembered of the line.
fn shown(before: &VecDeque<u8>, piece: &[u8], at: usize) -> String {
    let mut line: Vec<u8> = before.iter().copied().collect();
    let cut_before = line.len() == BEFORE || at > BEFORE;
    let at_in_line = line.len() + at;
    line.extend_from_slice(&piece[..(at + excerpt::MOST).min(piece.len())]);
    let from = at_in_line.saturating_sub(BEFORE);
    let text = excerpt::of(&line[from..], at_in_line - from);
    if cut_before && !text.starts_with('…') { format!("…{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::lines::Search;
    use super::*;
    use zipfs_sdk::testing::Bench;

    /// Both ways to search agree on every line, whatever the lengths and the ends of lines.
    #[test]
    fn feeding_finds_what_holding_finds() {
        let patterns = ["needle", "^a", "z$", "^$", "a.c", "(?i)NEEDLE", "x{3}", "é+", "\\bword\\b", "[^a]$", "a|b$", "\\s"];
        let long = "y".repeat(200_000);
        let texts = [
            "a needle\nno\nabc z\r\n\nz\nword words\n".to_owned(),
            format!("{long}needle{long}\nabc\r\n{long}z\r\n"),
            format!("{long}\n\n{long}é{long}\nxxx"),
            format!("{}\r\nz\r\n", "y".repeat((64 << 10) - 1)),
            "no end of line: z".to_owned(),
            String::new(),
            "\n".to_owned(),
            "\n\n".to_owned(),
        ];
        for text in &texts {
            for pattern in patterns {
                for ignore_case in [false, true] {
                    let query = Query { pattern: pattern.to_owned(), ignore_case };
                    compare(text, &query);
                }
            }
        }
    }

    fn compare(text: &str, query: &Query) {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct None {}
        #[derive(serde::Serialize, schemars::JsonSchema)]
        struct Agreed {
            held: Vec<u64>,
            fed: Vec<u64>,
            skipped: bool,
        }
        thread_local!(static QUERY: std::cell::RefCell<Option<Query>> = const { std::cell::RefCell::new(Option::None) });
        struct Comparing;
        impl zipfs_sdk::Plugin for Comparing {
            fn about() -> zipfs_sdk::About {
                zipfs_sdk::About::new("comparing", "1.0.0")
            }
            fn tools() -> Vec<zipfs_sdk::Tool> {
                vec![zipfs_sdk::Tool::new("compare", "Compares.", run).reads()]
            }
        }
        fn run(_: None) -> Result<Agreed, zipfs_sdk::Error> {
            let query = QUERY.with_borrow(|query| query.clone()).unwrap();
            let workspace = zipfs_sdk::fs::workspace()?;
            let numbers = |hits: &Hits| hits.kept.iter().map(|(number, _)| *number).collect::<Vec<_>>();
            let (mut held, mut fed) = (Hits::keeping(99), Hits::keeping(99));
            Search::new(&query)?.file(&workspace, "f", &|| "f".to_owned(), &mut held)?;
            let file = workspace.open_file("f").unwrap();
            let ended = LongLines::new(&query).unwrap().search(&file, &mut fed).unwrap();
            Ok(Agreed { held: numbers(&held), fed: numbers(&fed), skipped: matches!(ended, Ended::Skipped(_)) })
        }
        let bench = Bench::of::<Comparing>();
        bench.put("f", text);
        QUERY.set(Some(query.clone()));
        let agreed = bench.call("compare", serde_json::json!({})).json();
        let brief: String = text.chars().take(40).collect();
        if agreed["skipped"] == true {
            assert!(query.pattern.contains("\\b") && !text.is_ascii(), "{query:?} on {brief:?}");
        } else {
            assert_eq!(agreed["held"], agreed["fed"], "{query:?} on {brief:?}");
        }
    }

    #[test]
    fn a_match_in_the_middle_of_nowhere_is_shown_with_its_surroundings() {
        let mut before = VecDeque::new();
        remember(&mut before, &[b'a'; 1000]);
        assert_eq!(before.len(), BEFORE);
        let text = shown(&before, b"bbbNEEDLEccc", 9);
        assert!(text.starts_with("…aaa") && text.ends_with("abbbNEEDLEccc"), "{text}");
        assert_eq!(shown(&VecDeque::new(), b"short", 3), "short");
    }
}
