//! The files to search: a walk, sorted, and the glob that picks from it.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use zipfs_sdk::Error;
use zipfs_sdk::fs::{self, Dir, Entry, IoError, Kind};

use crate::lookup;

/// A glob as people mean it: without a slash it is about names anywhere (`*.rs`), with one about paths from the root
/// (`src/**/*.rs`), and a directory stands for everything in it (`docs`, `docs/`).
pub struct Filter(Option<GlobSet>);

impl Filter {
    pub fn new(glob: Option<&str>) -> Result<Filter, Error> {
        let Some(glob) = glob else { return Ok(Filter(None)) };
        let invalid = |why: String| {
            Error::invalid("INVALID_PARAMS", format!("Invalid argument 'glob': {why}."))
                .suggest("Examples: '*.txt', 'docs/**', 'src/**/*.{rs,toml}'.")
        };
        let bare = glob.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        if bare.is_empty() {
            return Err(invalid("it is empty".to_owned()));
        }
        let anchored = glob.starts_with('/') || bare.contains('/');
        let from_root = if anchored { bare.to_owned() } else { format!("**/{bare}") };
        let build = |text: &str| -> Result<Glob, Error> {
            GlobBuilder::new(text).literal_separator(true).build().map_err(|error| invalid(error.kind().to_string()))
        };
        let mut set = GlobSetBuilder::new();
        if !glob.ends_with('/') {
            set.add(build(&from_root)?);
        }
        // A pattern such as `docs/*` is about the files it fits; only a plain name or a slash at the end speaks of a directory.
        let last = bare.rsplit('/').next().unwrap_or(bare);
        if glob.ends_with('/') || !last.contains(['*', '?', '[', '{']) {
            set.add(build(&format!("{from_root}/**"))?);
        }
        Ok(Filter(Some(set.build().map_err(|error| invalid(error.to_string()))?)))
    }

    pub fn takes_all(&self) -> bool {
        self.0.is_none()
    }

    pub fn lets_pass(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|set| set.is_match(path))
    }
}

/// Files of one directory, sorted by name.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Siblings {
    /// From the root of the workspace.
    pub directory: String,
    pub names: Vec<String>,
}

/// Deeper directories are not kept open while what is below them is looked at.
const MOST_OPEN: usize = 32;

/// A directory whose entries are being looked at.
struct Level {
    directory: String,
    /// Where directories below it are opened by their names, which is sooner done than by their paths.
    open: Option<Dir>,
    entries: std::vec::IntoIter<Entry>,
}

/// All files beneath a directory that pass the filter, sorted by their path from the root of the workspace; those of a directory
/// come in several runs if there are directories between them. Links are not followed.
pub fn beneath(workspace: &Dir, directory: &str, filter: &Filter) -> Result<Vec<Siblings>, Error> {
    let mut runs: Vec<Siblings> = Vec::new();
    // A stack of our own: an archive decides how deep it goes, and must not decide how much of the call stack is used.
    let root = workspace.open_dir(if directory.is_empty() { "." } else { directory });
    let mut levels: Vec<Level> = level(root, directory.to_owned())?.into_iter().collect();
    // Whether the last run is of the directory that is being looked at.
    let mut goes_on = false;
    while let Some(current) = levels.last_mut() {
        let Some(entry) = current.entries.next() else {
            levels.pop();
            goes_on = false;
            continue;
        };
        if entry.kind == Kind::Dir {
            let path = lookup::join(&current.directory, &entry.name);
            let opened = match &current.open {
                Some(open) => open.open_dir(&entry.name),
                None => workspace.open_dir(&path),
            };
            let below = level(opened, path)?;
            levels.extend(below);
            if levels.len() > MOST_OPEN
                && let Some(last) = levels.last_mut()
            {
                last.open = None;
            }
            goes_on = false;
        } else if filter.takes_all() || filter.lets_pass(&lookup::join(&current.directory, &entry.name)) {
            match runs.last_mut().filter(|_| goes_on) {
                Some(run) => run.names.push(entry.name),
                None => runs.push(Siblings { directory: current.directory.clone(), names: vec![entry.name] }),
            }
            goes_on = true;
        }
    }
    Ok(runs)
}

/// The files and directories of a directory in the order of the paths in it: a directory's name counts with its slash.
fn level(opened: fs::Result<Dir>, directory: String) -> Result<Option<Level>, Error> {
    let (open, mut entries) = match opened.and_then(|dir| dir.read_dir().map(|entries| (dir, entries))) {
        Ok(found) => found,
        // Removed by another program since its name was read.
        Err(IoError::NotFound) => return Ok(None),
        Err(error) => return Err(error.at(&directory)),
    };
    entries.retain(|entry| matches!(entry.kind, Kind::Dir | Kind::File));
    entries.sort_unstable_by(|a, b| in_path(a).cmp(in_path(b)));
    Ok(Some(Level { directory, open: Some(open), entries: entries.into_iter() }))
}

fn in_path(entry: &Entry) -> impl Iterator<Item = u8> + '_ {
    entry.name.bytes().chain((entry.kind == Kind::Dir).then_some(b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_mean_what_people_mean() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("*.rs", &["a.rs", "x/y/a.rs"], &["a.rs.bak", "a.txt"]),
            ("src/*.rs", &["src/a.rs"], &["src/x/a.rs", "x/src/a.rs"]),
            ("src/**/*.rs", &["src/a.rs", "src/x/y/a.rs"], &["lib/a.rs"]),
            ("**/test/**", &["test/a", "x/test/y/a"], &["tests/a"]),
            ("docs", &["docs/a", "docs/x/y", "x/docs/a", "docs"], &["docs2/a"]),
            ("docs/", &["docs/a", "x/docs/a"], &["docs"]),
            ("/docs", &["docs/a", "docs"], &["x/docs/a"]),
            ("*.{md,txt}", &["a.md", "b/a.txt"], &["a.mdx"]),
            ("a?c", &["abc", "x/abc"], &["a/c", "abbc"]),
            ("[ab].x", &["a.x"], &["c.x"]),
            (".*", &[".env", "x/.env"], &["a"]),
            ("./a/*.x", &["a/b.x"], &["b/a/b.x"]),
            ("docs/*", &["docs/a"], &["docs/x/y"]),
            ("docs/**", &["docs/a", "docs/x/y"], &["docs"]),
            ("*.app/", &["x.app/a", "y/x.app/b/c"], &["x.app"]),
        ];
        for (glob, yes, no) in table {
            let filter = Filter::new(Some(glob)).unwrap();
            for path in *yes {
                assert!(filter.lets_pass(path), "{glob} should take {path}");
            }
            for path in *no {
                assert!(!filter.lets_pass(path), "{glob} should not take {path}");
            }
        }
    }

    /// The order of paths is not the order of names in each directory: a slash comes after a dot and before letters.
    #[test]
    fn files_come_in_the_order_of_their_paths() {
        let bench = zipfs_sdk::testing::Bench::of::<crate::Zipfs>();
        let deep = "d/".repeat(50);
        let mut paths = ["a.txt", "a/b.txt", "a/b/c", "a/b-c", "a0", "a/z", "b", "a/b/c.d", "é", "Z"].map(str::to_owned).to_vec();
        paths.push(format!("{deep}one"));
        paths.push(format!("{deep}two/three"));
        for path in &paths {
            bench.put(path, "x\n");
        }
        paths.sort();
        let found = bench.call("zipfs_grep", serde_json::json!({"pattern": "x"})).json();
        let found: Vec<_> =
            found["matches"].as_array().unwrap().iter().map(|found| found["file"].as_str().unwrap().to_owned()).collect();
        assert_eq!(found, paths);
    }

    #[test]
    fn bad_globs_are_named() {
        for glob in ["[", "a{b", "", "/", "a**{"] {
            let Err(error) = Filter::new(Some(glob)) else { panic!("{glob:?} should be refused") };
            assert!(error.code() == "INVALID_PARAMS" && error.message().contains("'glob'"), "{glob:?}: {error:?}");
        }
    }
}
