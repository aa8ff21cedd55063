//! The files to search: a walk, sorted, and the glob that picks from it.

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use zipfs_sdk::Error;
use zipfs_sdk::fs::{Dir, IoError, Kind};

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

    pub fn lets_pass(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|set| set.is_match(path))
    }
}

/// All files beneath a directory that pass the filter, by their path from the root of the workspace, sorted. Links are not followed.
pub fn beneath(workspace: &Dir, directory: &str, filter: &Filter) -> Result<Vec<String>, Error> {
    let mut files = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        let entries =
            match workspace.open_dir(if directory.is_empty() { "." } else { &directory }).and_then(|dir| lookup::list(&dir)) {
                // Removed by another program since its name was read.
                Err(IoError::NotFound) => continue,
                result => result.map_err(|error| error.at(&directory))?,
            };
        for entry in entries {
            let path = lookup::join(&directory, &entry.name);
            match entry.kind {
                Kind::Dir => pending.push(path),
                Kind::File if filter.lets_pass(&path) => files.push(path),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    Ok(files)
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

    #[test]
    fn bad_globs_are_named() {
        for glob in ["[", "a{b", "", "/", "a**{"] {
            let Err(error) = Filter::new(Some(glob)) else { panic!("{glob:?} should be refused") };
            assert!(error.code() == "INVALID_PARAMS" && error.message().contains("'glob'"), "{glob:?}: {error:?}");
        }
    }
}
