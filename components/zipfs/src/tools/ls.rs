//! `zipfs_ls`: what a directory holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError, Kind, Stat, Timestamp};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::lookup;

const DESCRIPTION: &str = "\
Lists a directory of the session, sorted by name. Use it for names, sizes and times; zipfs_tree shows the structure at a glance. \
Returns entries[] with name (directories end in '/'), type ('dir', 'file', or 'symlink' with its target), size_bytes and \
modified_at (UTC). With recursive=true everything below, with names relative to `path`. For a file, its one entry. A long \
list comes in parts: total_entries counts all, and while truncated is true go on at offset + the number of entries. \
Next: zipfs_read.";

pub fn tool() -> Tool {
    Tool::new("zipfs_ls", DESCRIPTION, ls).title("List directory").reads().meta(super::long_results)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The directory, relative to the root of the archive; '/' is the root.
    #[serde(default)]
    #[schemars(extend("x-zipfs-path" = "tree"))]
    path: PathArgument,
    /// Whether to list everything below it too.
    #[serde(default)]
    recursive: bool,
    /// How many entries to leave out at the beginning.
    #[serde(default)]
    offset: u64,
    /// How many entries to return at most, up to 50000.
    #[serde(default = "default_limit")]
    limit: u64,
}

/// What clients show without cutting it.
fn default_limit() -> u64 {
    4_000
}

/// Several megabytes of JSON, which fit into an answer and twice into an instance.
const MOST: u64 = 50_000;

#[derive(Serialize, JsonSchema)]
struct Listed {
    entries: Vec<Item>,
    /// All that there are.
    total_entries: usize,
    /// Whether there are more after these.
    truncated: bool,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    /// Relative to the directory that was asked for; a directory ends in '/'.
    name: String,
    #[serde(rename = "type")]
    kind: ItemKind,
    /// 0 for a directory and for a link.
    size_bytes: u64,
    /// RFC 3339, UTC.
    modified_at: String,
    /// What a link says.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ItemKind {
    Dir,
    File,
    Symlink,
}

fn ls(arguments: Arguments) -> Result<Listed, Error> {
    let path = arguments.path.check()?;
    let workspace = fs::workspace()?;
    let found = lookup::find(&workspace, &path)?;
    if found.kind == Kind::File {
        let entry = item(path.name().unwrap_or_default().to_owned(), ItemKind::File, &found);
        return Ok(Listed { entries: vec![entry], total_entries: 1, truncated: false });
    }
    let base = workspace.open_dir(path.as_str()).map_err(|error| error.at(&path))?;
    let names = names(&base, arguments.recursive)?;
    let start = usize::try_from(arguments.offset).unwrap_or(usize::MAX).min(names.len());
    let end = start.saturating_add(arguments.limit.min(MOST) as usize).min(names.len());
    let mut entries = Vec::with_capacity(end - start);
    for name in &names[start..end] {
        entries.extend(look(&base, name).map_err(|error| error.at(name))?);
    }
    Ok(Listed { entries, total_entries: names.len(), truncated: end < names.len() })
}

/// The names in a directory, sorted; directories end in '/'.
fn names(base: &Dir, recursive: bool) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    // Directories still to list, by name from the base. Names and not handles, since a deep tree would use up the handles that a
    // call may hold.
    let mut pending = vec![String::new()];
    while let Some(directory) = pending.pop() {
        let entries = match base.open_dir(if directory.is_empty() { "." } else { &directory }).and_then(|dir| lookup::list(&dir)) {
            // Removed by another program since its name was read.
            Err(IoError::NotFound) => continue,
            result => result.map_err(|error| error.at(&directory))?,
        };
        for entry in entries {
            let name = lookup::join(&directory, &entry.name);
            if entry.kind == Kind::Dir {
                names.push(format!("{name}/"));
                if recursive {
                    pending.push(name);
                }
            } else {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// What has this name; nothing if another program removed it meanwhile.
fn look(base: &Dir, name: &str) -> fs::Result<Option<Item>> {
    let stat = match base.stat(name.trim_end_matches('/')) {
        Err(IoError::NotFound) => return Ok(None),
        result => result?,
    };
    let kind = match stat.kind {
        Kind::Dir => ItemKind::Dir,
        Kind::Symlink => ItemKind::Symlink,
        Kind::File | Kind::Other => ItemKind::File,
    };
    let mut item = item(name.to_owned(), kind, &stat);
    if kind == ItemKind::Symlink {
        item.target = base.read_link(name).ok();
    }
    Ok(Some(item))
}

fn item(name: String, kind: ItemKind, stat: &Stat) -> Item {
    let modified_at = stat.modified.unwrap_or(Timestamp { seconds: 0, nanoseconds: 0 }).to_string();
    let size_bytes = if kind == ItemKind::File { stat.size } else { 0 };
    Item { name, kind, size_bytes, modified_at, target: None }
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
    fn a_long_list_comes_in_parts() {
        let bench = bench();
        let part =
            |offset: u64, limit: u64| bench.call("zipfs_ls", json!({"recursive": true, "offset": offset, "limit": limit})).json();
        let first = part(0, 4);
        assert_eq!((names(&first).len(), &first["total_entries"], &first["truncated"]), (4, &json!(6), &json!(true)));
        let rest = part(4, 4);
        assert_eq!((names(&rest), &rest["truncated"]), (vec!["a/x.txt", "b.txt"], &json!(false)));
        for offset in [6, u64::MAX] {
            assert_eq!((names(&part(offset, 4)).len(), &part(offset, 4)["truncated"]), (0, &json!(false)));
        }
    }

    #[test]
    fn a_file_is_its_own_entry() {
        let listed = bench().call("zipfs_ls", json!({"path": "a/deep/y.txt"})).json();
        assert_eq!(names(&listed), ["y.txt"]);
        assert_eq!(listed["entries"][0]["size_bytes"], 2);
    }

    #[test]
    fn an_empty_workspace_is_an_empty_list() {
        assert_eq!(
            Bench::of::<crate::Zipfs>().call("zipfs_ls", json!({"path": ""})).json(),
            json!({"entries": [], "total_entries": 0, "truncated": false})
        );
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for path in ["nope", "b.txt/x", "a/nope/x"] {
            assert_eq!(bench().call("zipfs_ls", json!({"path": path})).error().code(), "PATH_NOT_FOUND", "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_listed_and_not_followed_out() {
        let bench = bench();
        let outside = bench.host_path().parent().unwrap().join("staging");
        std::os::unix::fs::symlink(&outside, bench.host_path().join("out")).unwrap();
        std::os::unix::fs::symlink("a", bench.host_path().join("in")).unwrap();
        let listed = bench.call("zipfs_ls", json!({"recursive": true})).json();
        assert_eq!(names(&listed).len(), 8);
        let link = listed["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == "in").unwrap();
        assert_eq!((&link["type"], &link["target"], &link["size_bytes"]), (&json!("symlink"), &json!("a"), &json!(0)));
        assert_eq!(bench.call("zipfs_ls", json!({"path": "out"})).error().code(), "PATH_TRAVERSAL");
        assert_eq!(names(&bench.call("zipfs_ls", json!({"path": "in"})).json()), ["deep/", "x.txt"]);
    }
}
