//! `zipfs_grep`: which lines match a regular expression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError, Kind};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool, parallel};

use crate::lookup;
use crate::search::cut::{Cut, ENOUGH_DIRECTORIES, cut};
use crate::search::files::{self, Filter, Piece, Siblings};
use crate::search::lines::{Ended, Hits, Match, Query, Search};

const DESCRIPTION: &str = "\
Searches the files of the session for lines that match a regular expression (RE2 syntax: no look-around, no back references). \
Use it to find where something is before reading. `path` limits it to a file or directory, `glob` to files such as '*.md' or \
'src/**/*.rs'. Returns matches[] with file, line_number and line_content, sorted by file and line, at most max_results; \
total_matches counts all matching lines, and truncated says whether matches are missing. Binary files are skipped and counted. \
Next: zipfs_read the file.";

/// The most lines that come back, whatever was asked for.
const MOST_RESULTS: u64 = 10_000;

/// The most text that comes back, in bytes. Clients cut longer answers, some of them in the middle of the JSON.
const MOST_TEXT: usize = 400_000;

/// The most files that are named as skipped; a few show what is wrong.
const MOST_SKIPPED: usize = 20;

/// So many files of directories that nobody had looked into are searched by one part; what is more is shared again.
const FAIR_SHARE: usize = 1000;

/// As many parts as one sharing takes.
const MOST_PARTS: usize = 1024;

pub fn tool() -> Tool {
    Tool::new("zipfs_grep", DESCRIPTION, grep).title("Search files").reads().meta(super::long_results).parts(search_part)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The regular expression. A line is searched without its end; '^' and '$' are the ends of the line.
    pattern: String,
    /// The file or directory to search, relative to the root of the archive; '/' is the root.
    #[serde(default)]
    #[schemars(extend("x-zipfs-path" = "tree"))]
    path: PathArgument,
    /// Only files whose path fits: '*.txt' (in any directory), 'docs/**', 'docs' (all in it), '*.{md,txt}'.
    glob: Option<String>,
    /// Whether upper and lower case are the same.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines to return; all are counted. At most 10000.
    #[serde(default = "hundred")]
    max_results: u64,
}

fn hundred() -> u64 {
    100
}

#[derive(Serialize, JsonSchema)]
struct Grepped {
    matches: Vec<Match>,
    /// All matching lines, whether returned or not.
    total_matches: u64,
    /// Whether there are more matching lines than were returned.
    truncated: bool,
    files_searched: u64,
    /// Files with a NUL byte, which are not searched.
    binary_files_skipped: u64,
    /// Files that could not be searched, the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<Skipped>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Skipped {
    file: String,
    reason: String,
}

/// Some of the files of a search.
#[derive(Serialize, Deserialize)]
struct Part {
    query: Query,
    glob: Option<String>,
    most: usize,
    pieces: Vec<Piece>,
}

/// What was found in them.
#[derive(Default, Serialize, Deserialize)]
struct Found {
    matches: Vec<Match>,
    total: u64,
    searched: u64,
    binary: u64,
    skipped: Vec<Skipped>,
    /// What turned out to be more than a fair share.
    left: Vec<Piece>,
    /// How much text the matches have.
    #[serde(skip)]
    text: usize,
}

fn grep(arguments: Arguments) -> Result<Grepped, Error> {
    let path = arguments.path.check()?;
    let filter = Filter::new(arguments.glob.as_deref())?;
    let query = Query { pattern: arguments.pattern, ignore_case: arguments.ignore_case };
    let most = arguments.max_results.min(MOST_RESULTS) as usize;
    // Before anything is walked: a pattern that cannot be used is told at once.
    let mut search = Search::new(&query)?;
    let workspace = fs::workspace()?;
    let pieces = match lookup::find(&workspace, &path)?.kind {
        Kind::Dir => files::outline(&workspace, path.as_str().trim_matches('.'), &filter, ENOUGH_DIRECTORIES)?,
        // As a path, not as a name in its directory: it may be a link that leads elsewhere.
        _ if filter.lets_pass(path.as_str()) => {
            vec![Piece::Files(Siblings { directory: String::new(), names: vec![path.as_str().to_owned()] })]
        }
        _ => Vec::new(),
    };
    let mut found = Found::default();
    match cut(&workspace, pieces) {
        Cut::Whole(pieces) => found.search(&mut search, &workspace, &filter, pieces, most)?,
        Cut::Parts(parts) => {
            drop(search);
            let part = |pieces| Part { query: query.clone(), glob: arguments.glob.clone(), most, pieces };
            for more in share(&workspace, parts, &part)? {
                found.add(more);
            }
        }
    }
    Ok(found.within(most))
}

/// Has the parts searched. What one of them leaves is shared again, and added to what it found.
fn share(workspace: &Dir, parts: Vec<Vec<Piece>>, part: &dyn Fn(Vec<Piece>) -> Part) -> Result<Vec<Found>, Error> {
    let parts: Vec<Part> = parts.into_iter().map(part).collect();
    let mut all = Vec::new();
    for parts in parts.chunks(MOST_PARTS) {
        all.extend(parallel::map::<Part, Found>(parts)?);
    }
    let (mut again, mut owners) = (Vec::new(), Vec::new());
    for (owner, found) in all.iter_mut().enumerate().filter(|(_, found)| !found.left.is_empty()) {
        let parts = match cut(workspace, std::mem::take(&mut found.left)) {
            Cut::Whole(pieces) => vec![pieces],
            Cut::Parts(parts) => parts,
        };
        owners.extend(parts.iter().map(|_| owner));
        again.extend(parts);
    }
    if !again.is_empty() {
        for (owner, more) in owners.into_iter().zip(share(workspace, again, part)?) {
            all[owner].add(more);
        }
    }
    Ok(all)
}

fn search_part(part: Part) -> Result<Found, Error> {
    let mut found = Found::default();
    let filter = Filter::new(part.glob.as_deref())?;
    found.search(&mut Search::again(&part.query)?, &fs::workspace()?, &filter, part.pieces, part.most)?;
    Ok(found)
}

impl Found {
    fn search(
        &mut self,
        search: &mut Search,
        workspace: &Dir,
        filter: &Filter,
        pieces: Vec<Piece>,
        most: usize,
    ) -> Result<(), Error> {
        let (mut pieces, mut unforeseen) = (pieces.into_iter(), 0);
        while let Some(piece) = pieces.next() {
            let directory = match piece {
                Piece::Files(files) => {
                    self.search_files(search, workspace, &files, most)?;
                    continue;
                }
                Piece::Beneath(directory) => directory,
            };
            for piece in files::outline(workspace, &directory, filter, usize::MAX)? {
                let Piece::Files(mut files) = piece else { continue };
                let rest = files.names.split_off(files.names.len().min(FAIR_SHARE - unforeseen));
                unforeseen += files.names.len();
                if !rest.is_empty() {
                    self.left.push(Piece::Files(Siblings { directory: files.directory.clone(), names: rest }));
                }
                if !files.names.is_empty() {
                    self.search_files(search, workspace, &files, most)?;
                }
            }
            if !self.left.is_empty() {
                self.left.extend(pieces);
                break;
            }
        }
        self.skipped.truncate(MOST_SKIPPED);
        Ok(())
    }

    fn search_files(&mut self, search: &mut Search, workspace: &Dir, files: &Siblings, most: usize) -> Result<(), Error> {
        let Siblings { directory, names } = files;
        // A name in an open directory is found sooner than a path.
        let opened = match directory.as_str() {
            "" => None,
            path => match workspace.open_dir(path) {
                Ok(opened) => Some(opened),
                // Removed by another program since its name was read: nothing is left in it.
                Err(IoError::NotFound) => {
                    self.searched += names.len() as u64;
                    return Ok(());
                }
                Err(error) => return Err(error.at(directory)),
            },
        };
        for name in names {
            let path = || lookup::join(directory, name);
            let left = if self.text > MOST_TEXT { 0 } else { most.saturating_sub(self.matches.len()) };
            let mut hits = Hits::keeping(left);
            match search.file(opened.as_ref().unwrap_or(workspace), name, &path, &mut hits)? {
                Ended::Searched => {
                    self.searched += 1;
                    self.total += hits.total;
                    for (line_number, line_content) in hits.kept {
                        let file = path();
                        self.text += line_content.len() + file.len();
                        self.matches.push(Match { file, line_number, line_content });
                    }
                }
                Ended::Binary => self.binary += 1,
                Ended::Skipped(reason) => self.skipped.push(Skipped { file: path(), reason: reason.to_owned() }),
            }
        }
        Ok(())
    }

    fn add(&mut self, more: Found) {
        self.matches.extend(more.matches);
        self.total += more.total;
        self.searched += more.searched;
        self.binary += more.binary;
        self.skipped.extend(more.skipped);
    }

    /// The answer: not more lines than asked for, and not more text than clients take.
    fn within(mut self, most: usize) -> Grepped {
        let mut text = 0;
        let fitting = self.matches.iter().take(most).take_while(|found| {
            text += found.line_content.len() + found.file.len();
            text <= MOST_TEXT
        });
        let fitting = fitting.count();
        self.matches.truncate(fitting);
        self.skipped.truncate(MOST_SKIPPED);
        Grepped {
            truncated: self.total > self.matches.len() as u64,
            matches: self.matches,
            total_matches: self.total,
            files_searched: self.searched,
            binary_files_skipped: self.binary,
            skipped: self.skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zipfs_sdk::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("a.txt", "one\nTwo needle\nthree\n");
        bench.put("src/lib.rs", "fn needle() {}\r\nlet x = 1;\r\n");
        bench.put("src/deep/m.rs", "// Needle\n// needle needle\n");
        bench.put("bin/data", b"needle\n\0needle\n");
        bench
    }

    fn places(found: &Value) -> Vec<(String, u64)> {
        let place = |found: &Value| (found["file"].as_str().unwrap().to_owned(), found["line_number"].as_u64().unwrap());
        found["matches"].as_array().unwrap().iter().map(place).collect()
    }

    fn grep(bench: &Bench, arguments: Value) -> Value {
        bench.call("zipfs_grep", arguments).json()
    }

    #[test]
    fn lines_are_found_sorted_and_counted() {
        let found = grep(&bench(), json!({"pattern": "needle"}));
        assert_eq!(
            found,
            json!({"matches": [
                {"file": "a.txt", "line_number": 2, "line_content": "Two needle"},
                {"file": "src/deep/m.rs", "line_number": 2, "line_content": "// needle needle"},
                {"file": "src/lib.rs", "line_number": 1, "line_content": "fn needle() {}"}],
                "total_matches": 3, "truncated": false, "files_searched": 3, "binary_files_skipped": 1})
        );
    }

    #[test]
    fn case_path_and_glob() {
        let bench = bench();
        assert_eq!(grep(&bench, json!({"pattern": "NEEDLE", "ignore_case": true}))["total_matches"], 4);
        assert_eq!(places(&grep(&bench, json!({"pattern": "needle", "path": "src/deep"}))), [("src/deep/m.rs".to_owned(), 2)]);
        assert_eq!(places(&grep(&bench, json!({"pattern": "needle", "path": "a.txt"}))), [("a.txt".to_owned(), 2)]);
        assert_eq!(grep(&bench, json!({"pattern": "needle", "glob": "*.rs"}))["total_matches"], 2);
        assert_eq!(grep(&bench, json!({"pattern": "needle", "glob": "src/*.rs"}))["total_matches"], 1);
        assert_eq!(grep(&bench, json!({"pattern": "needle", "path": "src", "glob": "*.txt"}))["files_searched"], 0);
        assert_eq!(grep(&bench, json!({"pattern": "\\{\\}$"}))["total_matches"], 1, "the end of a line with two characters");
    }

    #[test]
    fn totals_go_on_where_results_end() {
        let bench = Bench::of::<crate::Zipfs>();
        for number in 0..30 {
            bench.put(&format!("f{number:02}"), "x\nx\ny\nx\n");
        }
        let found = grep(&bench, json!({"pattern": "x", "max_results": 4}));
        assert_eq!((&found["total_matches"], &found["truncated"]), (&json!(90), &json!(true)));
        assert_eq!(places(&found), [("f00".into(), 1), ("f00".into(), 2), ("f00".into(), 4), ("f01".into(), 1)]);
        let found = grep(&bench, json!({"pattern": "x", "max_results": 90}));
        assert_eq!((found["matches"].as_array().unwrap().len(), &found["truncated"]), (90, &json!(false)));
        let counted = grep(&bench, json!({"pattern": "x", "max_results": 0}));
        assert_eq!((&counted["total_matches"], &counted["truncated"]), (&json!(90), &json!(true)));
    }

    #[test]
    fn a_shared_search_finds_the_same() {
        let bench = Bench::of::<crate::Zipfs>();
        let filler = "nothing here\n".repeat(20_000);
        for number in 0..40 {
            bench.put(&format!("f{number:02}"), format!("needle {number}\n{filler}needle again\n"));
        }
        let found = grep(&bench, json!({"pattern": "needle", "max_results": 79}));
        assert_eq!((&found["total_matches"], &found["truncated"]), (&json!(80), &json!(true)));
        let expected: Vec<_> = (0..40).flat_map(|n| [(format!("f{n:02}"), 1), (format!("f{n:02}"), 20_002)]).take(79).collect();
        assert_eq!(places(&found), expected);
    }

    /// One directory among many small ones has more files than one part is to search.
    #[test]
    fn what_is_too_much_for_a_part_is_shared_again() {
        let bench = Bench::of::<crate::Zipfs>();
        let mut expected = Vec::new();
        for number in 0..150 {
            expected.push(format!("few/{number:03}/x"));
        }
        for number in 0..2600 {
            expected.push(format!("few/077/deep/{}/many-{number}", number % 7));
        }
        for path in &expected {
            bench.put(path, "needle\n");
        }
        expected.sort();
        let found = grep(&bench, json!({"pattern": "needle", "max_results": 10_000}));
        let files: Vec<_> = places(&found).into_iter().map(|(file, _)| file).collect();
        assert_eq!(files, expected);
        assert_eq!((&found["files_searched"], &found["truncated"]), (&json!(2750), &json!(false)));
        assert_eq!(grep(&bench, json!({"pattern": "needle", "glob": "many-*"}))["total_matches"], 2600);
    }

    #[test]
    fn a_line_of_any_length_is_searched_and_shown_in_part() {
        let bench = Bench::of::<crate::Zipfs>();
        let filler = "x".repeat(3 << 20);
        bench.put("one-line.json", format!("{filler}{filler}needle{filler}\nsecond needle\n{filler}{filler}"));
        let found = grep(&bench, json!({"pattern": "needle"}));
        assert_eq!(places(&found), [("one-line.json".into(), 1), ("one-line.json".into(), 2)]);
        let shown = found["matches"][0]["line_content"].as_str().unwrap();
        assert!(shown.contains("xneedlex") && shown.len() < 1100, "{} bytes", shown.len());
        assert_eq!(found["matches"][1]["line_content"], "second needle");
    }

    #[test]
    fn text_that_is_no_utf8_is_searched() {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("latin1", b"caf\xe9 needle\n");
        bench.put(
            "utf16",
            [&[0xff, 0xfe][..], &"wide needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat(),
        );
        let found = grep(&bench, json!({"pattern": "needle"}));
        assert_eq!(found["total_matches"], 2);
        assert_eq!(found["matches"][0]["line_content"], "caf\u{fffd} needle");
        assert_eq!(found["matches"][1]["line_content"], "wide needle");
    }

    #[test]
    fn answers_stay_within_what_clients_take() {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("f", format!("{}\n", "y".repeat(900)).repeat(2000));
        let found = grep(&bench, json!({"pattern": "y", "max_results": 5000}));
        let shown = found["matches"].as_array().unwrap().len();
        assert!(shown > 300 && shown < 500, "{shown}");
        assert_eq!((&found["total_matches"], &found["truncated"]), (&json!(2000), &json!(true)));
    }

    #[test]
    fn bad_arguments_are_named() {
        let bench = bench();
        let error = |arguments: Value| bench.call("zipfs_grep", arguments).error().clone();
        for pattern in ["(", "a{2", "[z-a]", "(?=x)", "\\1", "(a{500}){500}{500}"] {
            let error = error(json!({"pattern": pattern}));
            assert!(error.code() == "INVALID_PARAMS" && error.message().contains("'pattern'"), "{pattern}: {error:?}");
            assert!(error.suggestion().is_some());
        }
        assert_eq!(error(json!({"pattern": "x", "glob": "["})).code(), "INVALID_PARAMS");
        assert_eq!(error(json!({"pattern": "x", "path": "nope"})).code(), "PATH_NOT_FOUND");
        assert_eq!(error(json!({"pattern": "x", "path": "../x"})).code(), "PATH_TRAVERSAL");
        assert_eq!(error(json!({"pattern": "x", "max_results": -1})).code(), "INVALID_PARAMS");
        assert_eq!(error(json!({})).code(), "INVALID_PARAMS");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_out() {
        let bench = bench();
        std::os::unix::fs::symlink("/etc", bench.host_path().join("etc")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", bench.host_path().join("passwd")).unwrap();
        assert_eq!(grep(&bench, json!({"pattern": "root"}))["total_matches"], 0);
        assert_eq!(bench.call("zipfs_grep", json!({"pattern": "root", "path": "etc"})).error().code(), "PATH_TRAVERSAL");
    }
}
