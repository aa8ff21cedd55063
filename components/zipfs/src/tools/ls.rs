//! `zipfs_ls`: what a directory holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError, Kind, Stat, Timestamp};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::lookup;

const DESCRIPTION: &str = "\
Lists a directory of the session, sorted by name. Use it for names, sizes and times; zipfs_tree shows the structure at a glance. \
Returns entries[] with name (directories end in '/'), type ('dir' or 'file'), size_bytes and modified_at (UTC). With \
recursive=true everything below, with names relative to `path`. For a file, its one entry. Next: zipfs_read.";

pub fn tool() -> Tool {
    Tool::new("zipfs_ls", DESCRIPTION, ls).title("List directory").reads().meta(super::long_results)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The directory, relative to the root of the archive; '/' is the root.
    #[serde(default)]
    path: PathArgument,
    /// Whether to list everything below it too.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    entries: Vec<Item>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    /// Relative to the directory that was asked for; a directory ends in '/'.
    name: String,
    #[serde(rename = "type")]
    kind: ItemKind,
    /// 0 for a directory.
    size_bytes: u64,
    /// RFC 3339, UTC.
    modified_at: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Dir,
    File,
}

fn ls(arguments: Arguments) -> Result<Listed, Error> {
    let path = arguments.path.check()?;
    let workspace = fs::workspace()?;
    let found = lookup::find(&workspace, &path)?;
    if found.kind == Kind::File {
        return Ok(Listed { entries: vec![item(path.name().unwrap_or_default().to_owned(), &found)] });
    }
    let base = workspace.open_dir(path.as_str()).map_err(|error| error.at(&path))?;
    let mut entries = Vec::new();
    // Directories still to list, by name from the base. Names and not handles, since a deep tree would use up the handles that a
    // call may hold.
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let below = add_directory(&base, &directory, &mut entries).map_err(|error| error.at(&directory))?;
        if arguments.recursive {
            pending.extend(below);
        }
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Listed { entries })
}

/// Adds what one directory holds, and returns the directories in it.
fn add_directory(base: &Dir, directory: &str, entries: &mut Vec<Item>) -> fs::Result<Vec<String>> {
    let opened;
    let dir = if directory.is_empty() {
        base
    } else {
        opened = match base.open_dir(directory) {
            // Removed by another program since its name was read.
            Err(IoError::NotFound) => return Ok(Vec::new()),
            result => result?,
        };
        &opened
    };
    let mut below = Vec::new();
    for entry in lookup::list(dir)? {
        let stat = match dir.stat(&entry.name) {
            Err(IoError::NotFound) => continue,
            result => result?,
        };
        let name = lookup::join(directory, &entry.name);
        if stat.kind == Kind::Dir {
            below.push(name.clone());
        }
        entries.push(item(name, &stat));
    }
    Ok(below)
}

fn item(mut name: String, stat: &Stat) -> Item {
    let modified_at = stat.modified.unwrap_or(Timestamp { seconds: 0, nanoseconds: 0 }).to_string();
    if stat.kind == Kind::Dir {
        name.push('/');
        Item { name, kind: ItemKind::Dir, size_bytes: 0, modified_at }
    } else {
        Item { name, kind: ItemKind::File, size_bytes: stat.size, modified_at }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zipfs_sdk::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("b.txt", "hello");
        bench.put("a/x.txt", "x");
        bench.put("a/deep/y.txt", "yy");
        bench.put("a-b.txt", "");
        bench
    }

    fn names(entries: &Value) -> Vec<&str> {
        entries["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn a_directory_is_sorted_and_marks_directories() {
        let bench = bench();
        let modified = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_709_208_000);
        std::fs::File::options().write(true).open(bench.host_path().join("b.txt")).unwrap().set_modified(modified).unwrap();
        let listed = bench.call("zipfs_ls", json!({})).json();
        assert_eq!(names(&listed), ["a-b.txt", "a/", "b.txt"]);
        assert_eq!(
            listed["entries"][2],
            json!({"name": "b.txt", "type": "file", "size_bytes": 5, "modified_at": "2024-02-29T12:00:00Z"})
        );
        assert_eq!((&listed["entries"][1]["type"], &listed["entries"][1]["size_bytes"]), (&json!("dir"), &json!(0)));
    }

    #[test]
    fn recursive_names_are_relative_to_the_path() {
        let listed = bench().call("zipfs_ls", json!({"path": "a", "recursive": true})).json();
        assert_eq!(names(&listed), ["deep/", "deep/y.txt", "x.txt"]);
        let listed = bench().call("zipfs_ls", json!({"path": "/", "recursive": true})).json();
        assert_eq!(names(&listed), ["a-b.txt", "a/", "a/deep/", "a/deep/y.txt", "a/x.txt", "b.txt"]);
    }

    #[test]
    fn a_file_is_its_own_entry() {
        let listed = bench().call("zipfs_ls", json!({"path": "a/deep/y.txt"})).json();
        assert_eq!(names(&listed), ["y.txt"]);
        assert_eq!(listed["entries"][0]["size_bytes"], 2);
    }

    #[test]
    fn an_empty_workspace_is_an_empty_list() {
        assert_eq!(Bench::of::<crate::Zipfs>().call("zipfs_ls", json!({"path": ""})).json(), json!({"entries": []}));
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for path in ["nope", "b.txt/x", "a/nope/x"] {
            assert_eq!(bench().call("zipfs_ls", json!({"path": path})).error().code(), "PATH_NOT_FOUND", "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_neither_listed_nor_followed_out() {
        let bench = bench();
        let outside = bench.host_path().parent().unwrap().join("staging");
        std::os::unix::fs::symlink(&outside, bench.host_path().join("out")).unwrap();
        std::os::unix::fs::symlink("a", bench.host_path().join("in")).unwrap();
        assert_eq!(names(&bench.call("zipfs_ls", json!({"recursive": true})).json()).len(), 6);
        assert_eq!(bench.call("zipfs_ls", json!({"path": "out"})).error().code(), "PATH_TRAVERSAL");
        assert_eq!(names(&bench.call("zipfs_ls", json!({"path": "in"})).json()), ["deep/", "x.txt"]);
    }
}
