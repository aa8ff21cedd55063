//! `zipfs_tree`: the structure at a glance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, Entry, IoError, Kind};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::lookup;

const DESCRIPTION: &str = "\
Draws a directory of the session as a tree. Use it first in an archive you do not know; limit max_depth in a large one. Returns \
tree (text, directories end in '/', links show where they lead), file_count and dir_count of what is drawn, and truncated: whether \
there was more than max_lines. Next: zipfs_read a file, or zipfs_ls for sizes \
and times.";

pub fn tool() -> Tool {
    Tool::new("zipfs_tree", DESCRIPTION, tree).title("Show tree").reads().meta(super::long_results)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The directory, relative to the root of the archive; '/' is the root.
    #[serde(default)]
    #[schemars(extend("x-zipfs-path" = "tree"))]
    path: PathArgument,
    /// How many levels to draw; 0 or nothing for all.
    max_depth: Option<u64>,
    /// How many lines to draw at most, up to 100000.
    #[serde(default = "default_lines")]
    max_lines: u64,
}

/// What clients show without cutting it.
fn default_lines() -> u64 {
    4_000
}

/// About eight megabytes, which fits into an answer.
const MOST_LINES: u64 = 100_000;

#[derive(Serialize, JsonSchema)]
struct Drawn {
    tree: String,
    file_count: u64,
    /// Without the root.
    dir_count: u64,
    /// Whether there is more than was drawn.
    truncated: bool,
}

/// A directory whose entries are being drawn.
struct Level {
    /// From the directory that was asked for.
    directory: String,
    entries: std::vec::IntoIter<Entry>,
    /// What stands before its lines: the branches of the levels above.
    indent: String,
}

fn tree(arguments: Arguments) -> Result<Drawn, Error> {
    let path = arguments.path.check()?;
    let workspace = fs::workspace()?;
    let mut drawn = Drawn { tree: ".".to_owned(), file_count: 0, dir_count: 0, truncated: false };
    if lookup::find(&workspace, &path)?.kind == Kind::File {
        drawn.line("", true, path.name().unwrap_or_default(), Kind::File, None);
        return Ok(drawn);
    }
    let max_depth = arguments.max_depth.filter(|depth| *depth > 0).unwrap_or(u64::MAX);
    let base = workspace.open_dir(path.as_str()).map_err(|error| error.at(&path))?;
    // A stack of our own: an archive decides how deep it goes, and must not decide how much of the call stack is used.
    let mut levels = vec![level(&base, String::new(), String::new()).map_err(|error| error.at(&path))?];
    let mut lines = arguments.max_lines.min(MOST_LINES);
    while let Some(current) = levels.last_mut() {
        let Some(entry) = current.entries.next() else {
            levels.pop();
            continue;
        };
        if lines == 0 {
            drawn.truncated = true;
            break;
        }
        lines -= 1;
        let last = current.entries.len() == 0;
        let target = (entry.kind == Kind::Symlink).then(|| target(&base, &current.directory, &entry.name));
        drawn.line(&current.indent, last, &entry.name, entry.kind, target);
        if entry.kind == Kind::Dir && (levels.len() as u64) < max_depth {
            let current = &levels[levels.len() - 1];
            let directory = lookup::join(&current.directory, &entry.name);
            let indent = format!("{}{}", current.indent, if last { "    " } else { "│   " });
            let below = level(&base, directory, indent).map_err(|error| error.at(&entry.name))?;
            levels.push(below);
        }
    }
    Ok(drawn)
}

/// What a link says.
fn target(base: &Dir, directory: &str, name: &str) -> String {
    base.read_link(&lookup::join(directory, name)).unwrap_or_else(|_| "?".to_owned())
}

fn level(base: &Dir, directory: String, indent: String) -> fs::Result<Level> {
    let entries = match if directory.is_empty() {
        lookup::list(base)
    } else {
        base.open_dir(&directory).and_then(|dir| lookup::list(&dir))
    } {
        // Removed by another program since its name was read.
        Err(IoError::NotFound) => Vec::new(),
        result => result?,
    };
    Ok(Level { directory, entries: entries.into_iter(), indent })
}

impl Drawn {
    fn line(&mut self, indent: &str, last: bool, name: &str, kind: Kind, target: Option<String>) {
        for piece in ["\n", indent, if last { "└── " } else { "├── " }, name] {
            self.tree.push_str(piece);
        }
        if kind == Kind::Dir {
            self.tree.push('/');
            self.dir_count += 1;
        } else if let Some(target) = target {
            self.tree.push_str(" -> ");
            self.tree.push_str(&target);
        } else {
            self.file_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zipfs_sdk::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("docs/deep/y.txt", "");
        bench.put("docs/x.txt", "");
        bench.put("readme", "");
        std::fs::create_dir(bench.host_path().join("void")).unwrap();
        bench
    }

    #[test]
    fn the_whole_tree() {
        let expected = "\
.
├── docs/
│   ├── deep/
│   │   └── y.txt
│   └── x.txt
├── readme
└── void/";
        assert_eq!(
            bench().call("zipfs_tree", json!({})).json(),
            json!({"tree": expected, "file_count": 3, "dir_count": 3, "truncated": false})
        );
        assert_eq!(bench().call("zipfs_tree", json!({"max_depth": 0})).json()["tree"], expected);
    }

    #[test]
    fn depth_is_limited_and_counts_follow() {
        let drawn = bench().call("zipfs_tree", json!({"max_depth": 1})).json();
        assert_eq!(
            drawn,
            json!({"tree": ".\n├── docs/\n├── readme\n└── void/", "file_count": 1, "dir_count": 2, "truncated": false})
        );
        let drawn = bench().call("zipfs_tree", json!({"path": "docs", "max_depth": 1})).json();
        assert_eq!(drawn["tree"], ".\n├── deep/\n└── x.txt");
    }

    #[test]
    fn a_file_and_nothing() {
        assert_eq!(
            bench().call("zipfs_tree", json!({"path": "docs/x.txt"})).json(),
            json!({"tree": ".\n└── x.txt", "file_count": 1, "dir_count": 0, "truncated": false})
        );
        assert_eq!(
            bench().call("zipfs_tree", json!({"path": "void"})).json(),
            json!({"tree": ".", "file_count": 0, "dir_count": 0, "truncated": false})
        );
        assert_eq!(bench().call("zipfs_tree", json!({"path": "nope"})).error().code(), "PATH_NOT_FOUND");
    }

    #[test]
    fn a_large_tree_is_cut_and_says_so() {
        let drawn = bench().call("zipfs_tree", json!({"max_lines": 2})).json();
        assert_eq!(drawn, json!({"tree": ".\n├── docs/\n│   ├── deep/", "file_count": 0, "dir_count": 2, "truncated": true}));
        assert_eq!(bench().call("zipfs_tree", json!({"max_lines": 6})).json()["truncated"], false);
    }

    #[cfg(unix)]
    #[test]
    fn links_show_where_they_lead() {
        let bench = bench();
        std::os::unix::fs::symlink("docs/x.txt", bench.host_path().join("a-link")).unwrap();
        let drawn = bench.call("zipfs_tree", json!({"max_depth": 1})).json();
        assert_eq!(
            (&drawn["tree"], &drawn["file_count"]),
            (&json!(".\n├── a-link -> docs/x.txt\n├── docs/\n├── readme\n└── void/"), &json!(1))
        );
    }

    #[test]
    fn a_deep_tree_uses_no_call_stack() {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put(&format!("{}x", "d/".repeat(1000)), "");
        let drawn = bench.call("zipfs_tree", json!({})).json();
        assert_eq!((&drawn["file_count"], &drawn["dir_count"]), (&json!(1), &json!(1000)));
    }
}
