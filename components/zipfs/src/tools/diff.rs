//! `zipfs_diff`: how the workspace differs from the archive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError};
use zipfs_sdk::path::{PathArgument, WorkspacePath};
use zipfs_sdk::{Class, Error, Tool, sessions};

use crate::compare::compare;

const DESCRIPTION: &str = "\
Shows the changes of the session that are not in the archive yet, as a unified diff. Use it to check work before zipfs_sync. `path` \
limits it to a file or directory. Returns diff (text that `patch -p1` applies), files[] with path, status ('modified', 'added', \
'deleted'), binary, lines_added and lines_removed, and truncated: whether the diff of some file was left out because it or the \
whole is too large. Binary files are listed, not shown.";

/// Larger files are not compared line by line: both versions and all their lines have to fit into the instance.
const MOST_FILE: u64 = 2 << 20;

/// The most text of diffs in one answer, without a wish. Clients cut longer answers.
const DEFAULT_TEXT: u64 = 200_000;
const MOST_TEXT: u64 = 2 << 20;

/// Lines around each change; more than a screen helps nobody.
const MOST_CONTEXT: u32 = 100;

pub fn tool() -> Tool {
    Tool::new("zipfs_diff", DESCRIPTION, diff).title("Show changes").reads().uses("sessions").meta(super::long_results)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file or directory whose changes to show, relative to the root of the archive; '/' is the root.
    #[serde(default)]
    #[schemars(extend("x-zipfs-path" = "tree"))]
    path: PathArgument,
    /// Lines of context around each change.
    #[serde(default = "three")]
    context: u32,
    /// The most bytes of diff to return.
    #[serde(default = "default_text")]
    max_bytes: u64,
}

fn three() -> u32 {
    3
}

fn default_text() -> u64 {
    DEFAULT_TEXT
}

#[derive(Serialize, JsonSchema)]
struct Differences {
    diff: String,
    files: Vec<Changed>,
    /// Whether the diff of some file is not in `diff`.
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct Changed {
    /// A directory ends in '/'.
    path: String,
    status: Status,
    /// Whether one of the two versions is no text.
    binary: bool,
    /// Whether it was too large to be shown.
    truncated: bool,
    lines_added: u32,
    lines_removed: u32,
}

#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Modified,
    Added,
    Deleted,
}

fn diff(arguments: Arguments) -> Result<Differences, Error> {
    let path = arguments.path.check()?;
    let workspace = fs::workspace()?;
    let most = arguments.max_bytes.min(MOST_TEXT) as usize;
    let context = arguments.context.min(MOST_CONTEXT);
    let changed = changed_beneath(&path, sessions::status()?);
    if changed.is_empty() {
        expect_something(&workspace, &path)?;
    }
    let mut result = Differences { diff: String::new(), files: Vec::new(), truncated: false };
    for (name, status) in changed {
        let mut file = Changed { path: name, status, binary: false, truncated: false, lines_added: 0, lines_removed: 0 };
        match versions(&workspace, &file.path, status)? {
            Versions::Directory => {}
            Versions::TooLarge => file.truncated = true,
            Versions::Binary => {
                file.binary = true;
                let (before, after) = names(&file.path, status);
                push_within(&mut result.diff, &format!("Binary files {before} and {after} differ\n"), most, &mut file.truncated);
            }
            Versions::Texts(before, after) => {
                let compared = compare(&before, &after, context);
                (file.lines_added, file.lines_removed) = (compared.lines_added, compared.lines_removed);
                let (from, to) = names(&file.path, status);
                let text = format!("--- {from}\n+++ {to}\n{}", compared.hunks);
                // An empty file that came or went has no hunk, and a diff cannot say so.
                if !compared.hunks.is_empty() {
                    push_within(&mut result.diff, &text, most, &mut file.truncated);
                }
            }
        }
        result.truncated |= file.truncated;
        result.files.push(file);
    }
    Ok(result)
}

/// The changes at or beneath a path, sorted by name.
fn changed_beneath(path: &WorkspacePath, changes: sessions::Changes) -> Vec<(String, Status)> {
    let lists = [(changes.modified, Status::Modified), (changes.added, Status::Added), (changes.deleted, Status::Deleted)];
    let mut all: Vec<(String, Status)> =
        lists.into_iter().flat_map(|(names, status)| names.into_iter().map(move |name| (name, status))).collect();
    all.retain(|(name, _)| is_beneath(name, path));
    // A file that took a directory's place, or the other way round, is deleted before it is added.
    all.sort_by(|a, b| (&a.0, a.1 == Status::Added).cmp(&(&b.0, b.1 == Status::Added)));
    all
}

fn is_beneath(name: &str, path: &WorkspacePath) -> bool {
    let name = name.trim_end_matches('/');
    path.name().is_none() || name.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path without changes has to be something all the same, or the caller has mistyped it.
fn expect_something(workspace: &Dir, path: &WorkspacePath) -> Result<(), Error> {
    crate::lookup::find(workspace, path).map(|_| ())
}

enum Versions {
    Texts(String, String),
    Binary,
    TooLarge,
    Directory,
}

fn versions(workspace: &Dir, path: &str, status: Status) -> Result<Versions, Error> {
    if path.ends_with('/') {
        return Ok(Versions::Directory);
    }
    let before = match status {
        Status::Added => Vec::new(),
        _ => match sessions::original(path, MOST_FILE) {
            Ok(contents) => contents.unwrap_or_default(),
            Err(error) if error.class() == Class::Limit => return Ok(Versions::TooLarge),
            Err(error) => return Err(error),
        },
    };
    let after = match status {
        Status::Deleted => Vec::new(),
        _ => match read_whole(workspace, path) {
            Ok(Some(contents)) => contents,
            Ok(None) => return Ok(Versions::TooLarge),
            // Changed again by another program since its name was read.
            Err(IoError::NotFound) => Vec::new(),
            Err(error) => return Err(error.at(path)),
        },
    };
    match (text(before), text(after)) {
        (Some(before), Some(after)) => Ok(Versions::Texts(before, after)),
        _ => Ok(Versions::Binary),
    }
}

fn read_whole(workspace: &Dir, path: &str) -> fs::Result<Option<Vec<u8>>> {
    let contents = workspace.open_file(path)?.read_at(0, MOST_FILE as usize + 1)?;
    Ok((contents.len() as u64 <= MOST_FILE).then_some(contents))
}

fn text(contents: Vec<u8>) -> Option<String> {
    if memchr::memchr(0, &contents).is_some() { None } else { String::from_utf8(contents).ok() }
}

/// What stands after `---` and `+++`. A name with a blank is ended by a tab, as patch wants it.
fn names(path: &str, status: Status) -> (String, String) {
    let end = if path.contains(' ') { "\t" } else { "" };
    let nothing = || "/dev/null".to_owned();
    (
        if status == Status::Added { nothing() } else { format!("a/{path}{end}") },
        if status == Status::Deleted { nothing() } else { format!("b/{path}{end}") },
    )
}

/// Adds a text if it still fits. Diffs come whole or not at all: half of one does not apply.
fn push_within(diff: &mut String, text: &str, most: usize, truncated: &mut bool) {
    if diff.len() + text.len() > most {
        *truncated = true;
    } else {
        diff.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_picked_by_path_and_sorted() {
        let changes = || sessions::Changes {
            modified: vec!["b/x".into(), "z".into()],
            added: vec!["b/a".into(), "bb".into(), "e/".into()],
            deleted: vec!["b/x/y".into(), "a".into()],
            unchanged_count: 0,
        };
        let names = |path: &str| {
            let picked = changed_beneath(&WorkspacePath::parse(path).unwrap(), changes());
            picked.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names("/"), ["a", "b/a", "b/x", "b/x/y", "bb", "e/", "z"]);
        assert_eq!(names("b"), ["b/a", "b/x", "b/x/y"]);
        assert_eq!(names("b/x"), ["b/x", "b/x/y"]);
        assert_eq!(names("e"), ["e/"]);
        assert!(names("c").is_empty());
    }

    #[test]
    fn a_diff_that_does_not_fit_is_left_out_whole() {
        let (mut diff, mut truncated) = ("12345".to_owned(), false);
        push_within(&mut diff, "67", 7, &mut truncated);
        assert_eq!((diff.as_str(), truncated), ("1234567", false));
        push_within(&mut diff, "8", 7, &mut truncated);
        assert_eq!((diff.as_str(), truncated), ("1234567", true));
    }
}
