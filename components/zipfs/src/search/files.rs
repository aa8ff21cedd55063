//! The files to search: a walk, sorted, and the glob that picks from it.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, Entry, IoError, Kind};

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

/// A piece of a tree.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Piece {
    Files(Siblings),
    /// All that is beneath a directory, which nobody has looked into yet.
    Beneath(String),
}

/// What is beneath a directory, in the order of the paths from the root of the workspace: the files that pass the filter, and as soon
/// as there are so many directories that `enough` can go on in several places at once, those as they are. The files of a directory
/// come in several runs if there are directories between them. Links are not followed.
pub fn outline(workspace: &Dir, directory: &str, filter: &Filter, enough: usize) -> Result<Vec<Piece>, Error> {
    let mut pieces = vec![Piece::Beneath(directory.to_owned())];
    loop {
        let unseen = pieces.iter().filter(|piece| matches!(piece, Piece::Beneath(_))).count();
        if unseen == 0 || unseen >= enough {
            return Ok(pieces);
        }
        let mut finer = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                Piece::Beneath(directory) => look_into(workspace, directory, filter, &mut finer)?,
                files => finer.push(files),
            }
        }
        pieces = finer;
    }
}

fn look_into(workspace: &Dir, directory: String, filter: &Filter, pieces: &mut Vec<Piece>) -> Result<(), Error> {
    let listed = workspace.open_dir(if directory.is_empty() { "." } else { &directory }).and_then(|dir| dir.read_dir());
    let mut entries = match listed {
        // Removed by another program since its name was read.
        Err(IoError::NotFound) => return Ok(()),
        result => result.map_err(|error| error.at(&directory))?,
    };
    entries.retain(|entry| matches!(entry.kind, Kind::Dir | Kind::File));
    entries.sort_unstable_by(|a, b| in_path(a).cmp(in_path(b)));
    let mut names = Vec::new();
    for Entry { name, kind } in entries {
        if kind == Kind::Dir {
            if !names.is_empty() {
                pieces.push(Piece::Files(Siblings { directory: directory.clone(), names: std::mem::take(&mut names) }));
            }
            pieces.push(Piece::Beneath(lookup::join(&directory, &name)));
        } else if filter.takes_all() || filter.lets_pass(&lookup::join(&directory, &name)) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        pieces.push(Piece::Files(Siblings { directory, names }));
    }
    Ok(())
}

/// The bytes of a name as they are in paths: those of a directory have a slash behind it.
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
        // More directories than are needed to share the work.
        paths.extend((0..200).map(|number| format!("many/{number}/x/{number}.txt")));
        paths.extend((0..200).map(|number| format!("many/{number}.txt")));
        for path in &paths {
            bench.put(path, "x\n");
        }
        paths.sort();
        let found = bench.call("zipfs_grep", serde_json::json!({"pattern": "x", "max_results": 1000})).json();
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
