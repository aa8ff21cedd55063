//! The lines of one file that match.

use serde::{Deserialize, Serialize};
use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, File, IoError};

use super::block::Finder;
use super::decoded::{self, Decoded};
use super::vector::has_nul;

/// What is read at once: most files end within it. The same as one WASI read returns at most.
pub const FIRST: usize = 64 << 10;

/// The longest line that is held as a whole; longer ones are searched as they pass by. An instance has 64 MiB.
pub const LONGEST_HELD: usize = 4 << 20;

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
        if self.keeps() {
            self.kept.push((number, text()));
        }
    }

    /// Whether the next line is kept. If not, nobody needs its number.
    pub fn keeps(&self) -> bool {
        self.kept.len() < self.most
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

/// What an error calls a file.
type Path<'a> = &'a dyn Fn() -> String;

/// A query that can be asked of many files.
pub struct Search {
    finder: Finder,
}

impl Search {
    /// Fails if the pattern is none.
    pub fn new(query: &Query) -> Result<Search, Error> {
        let search = Search::again(query)?;
        search.finder.matcher()?;
        Ok(search)
    }

    /// For a query that was found to be good before: what is not needed is not made.
    pub fn again(query: &Query) -> Result<Search, Error> {
        Ok(Search { finder: Finder::new(query)? })
    }

    /// Searches the file `name` in `directory`. The hits count only if it turns out to be text. `path` names it in errors.
    pub fn file(&mut self, directory: &Dir, name: &str, path: Path, hits: &mut Hits) -> Result<Ended, Error> {
        let file = match directory.open_file(name) {
            Ok(file) => file,
            // Removed or made unreadable by another program since its name was read.
            Err(IoError::NotFound) => return Ok(Ended::Searched),
            Err(IoError::NotPermitted) => return Ok(Ended::Skipped("it may not be read")),
            Err(error) => return Err(error.at(path())),
        };
        let first = file.read_chunk(0, FIRST).map_err(|error| error.at(path()))?;
        if self.finder.is_about_text || decoded::is_marked(&first) {
            return match decoded::search(self.finder.matcher()?, &file, &first, hits).map_err(|error| error.at(path()))? {
                Decoded::Searched => Ok(Ended::Searched),
                Decoded::Binary => Ok(Ended::Binary),
                Decoded::LineTooLong => self.long_lines(&file, path, hits),
            };
        }
        self.finder.begin();
        if has_nul(&first) {
            return Ok(Ended::Binary);
        }
        if first.len() < FIRST {
            self.finder.search(&first, hits)?;
            return Ok(Ended::Searched);
        }
        self.large_file(&file, first, path, hits)
    }

    /// Searches piece by piece what is whole lines, and carries what is left of the last one over to the next piece.
    fn large_file(&mut self, file: &File, first: Vec<u8>, path: Path, hits: &mut Hits) -> Result<Ended, Error> {
        let (mut piece, mut offset, mut begun) = (first, 0, Vec::new());
        loop {
            offset += piece.len() as u64;
            match memchr::memrchr(b'\n', &piece) {
                Some(last) => {
                    let mut whole = &piece[..=last];
                    if !begun.is_empty() {
                        let end = memchr::memchr(b'\n', whole).map_or(whole.len(), |end| end + 1);
                        begun.extend_from_slice(&whole[..end]);
                        self.finder.search(&begun, hits)?;
                        begun.clear();
                        whole = &whole[end..];
                    }
                    self.finder.search(whole, hits)?;
                    begun.extend_from_slice(&piece[last + 1..]);
                }
                None => begun.extend_from_slice(&piece),
            }
            if begun.len() > LONGEST_HELD {
                return self.long_lines(file, path, hits);
            }
            piece = file.read_chunk(offset, FIRST).map_err(|error| error.at(path()))?;
            if piece.is_empty() {
                self.finder.search(&begun, hits)?;
                return Ok(Ended::Searched);
            }
            if has_nul(&piece) {
                return Ok(Ended::Binary);
            }
        }
    }

    /// Begins anew, and searches lines as they pass by.
    fn long_lines(&mut self, file: &File, path: Path, hits: &mut Hits) -> Result<Ended, Error> {
        hits.clear();
        self.finder.long_lines()?.search(file, hits).map_err(|error| error.at(path()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zipfs_sdk::testing::Bench;

    /// Lines of all lengths lie across the pieces in which a large file is read.
    #[test]
    fn lines_across_pieces_are_whole() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut text, mut expected) = (String::new(), Vec::new());
        for number in 1..4000 {
            let length = if random(50) == 0 { random(200_000) } else { random(200) };
            text.push_str(&".".repeat(length as usize));
            if random(3) == 0 {
                text.push_str("the needle, 17");
                expected.push(number);
            }
            text.push_str(if random(2) == 0 { "\r\n" } else { "\n" });
        }
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("f", &text);
        for pattern in ["needle", "NEEDLE|needle", "needle, \\d+$", "[a-z]+ [a-z]+, 1"] {
            let found = bench.call("zipfs_grep", json!({"pattern": pattern, "max_results": 9999})).json();
            assert_eq!(found["total_matches"], expected.len(), "{pattern}");
            let counted = bench.call("zipfs_grep", json!({"pattern": pattern, "max_results": 0})).json();
            assert_eq!(counted["total_matches"], expected.len(), "{pattern}");
            let numbers: Vec<u64> =
                found["matches"].as_array().unwrap().iter().map(|found| found["line_number"].as_u64().unwrap()).collect();
            assert_eq!(numbers, expected[..numbers.len()], "{pattern}");
            assert!(numbers.len() > 300, "{pattern}: {}", numbers.len());
        }
    }

    /// A NUL byte anywhere makes a file one that is not searched, whatever was found before it; a mark of encoding is no text.
    #[test]
    fn what_is_text_is_decided_by_the_whole_file() {
        let bench = Bench::of::<crate::Zipfs>();
        let filler = "some line of text\n".repeat(20_000);
        bench.put("late", format!("needle\n{filler}\0{filler}"));
        bench.put("last", format!("{filler}needle\n\0"));
        bench.put("marked", format!("\u{feff}needle\n{filler}"));
        bench.put("marked-short", "\u{feff}needle\n");
        let found = bench.call("zipfs_grep", json!({"pattern": "^needle"})).json();
        assert_eq!((&found["binary_files_skipped"], &found["total_matches"]), (&json!(2), &json!(2)));
        assert_eq!(found["matches"][0]["line_content"], "needle");
        // About the beginning of the text, not of a line.
        bench.put("second", "x\nneedle\n");
        assert_eq!(bench.call("zipfs_grep", json!({"pattern": "\\Aneedle", "path": "second"})).json()["files_searched"], 1);
    }
}
