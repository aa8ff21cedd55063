//! `zipfs_delete`: a file or a directory goes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, Kind};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::lookup;

const DESCRIPTION: &str = "\
Deletes a file of the session, or with recursive=true a directory and everything in it. There is no undo in the session, but \
the archive itself keeps what is deleted until zipfs_sync. Returns deleted and path. The root cannot be deleted. Next: \
zipfs_status shows what is gone.";

pub fn tool() -> Tool {
    Tool::new("zipfs_delete", DESCRIPTION, delete).title("Delete").writes().idempotent(true)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file or directory, relative to the root of the archive.
    #[schemars(extend("x-zipfs-path" = "tree"))]
    path: PathArgument,
    /// Whether to delete a directory with everything in it.
    #[serde(default)]
    recursive: bool,
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    deleted: bool,
    /// As it was given.
    path: String,
}

fn delete(arguments: Arguments) -> Result<Deleted, Error> {
    let path = arguments.path.check()?;
    if path.is_root() {
        return Err(Error::invalid("INVALID_PARAMS", "The root of the workspace cannot be deleted.")
            .suggest("Delete what is in it, one by one, or close the session with zipfs_close."));
    }
    let workspace = fs::workspace()?;
    // A link is deleted as a link: where it leads does not matter.
    let found = workspace.stat(path.as_str()).map_err(|error| lookup::not_there(error, &path))?;
    if found.kind != Kind::Dir {
        workspace.remove_file(path.as_str()).map_err(|error| error.at(&path))?;
    } else if arguments.recursive {
        delete_directory(&workspace, path.as_str()).map_err(|error| error.at(&path))?;
    } else {
        return Err(Error::invalid("INVALID_PARAMS", format!("'{path}' is a directory."))
            .suggest("Set recursive=true to delete it with everything in it."));
    }
    Ok(Deleted { deleted: true, path: arguments.path.as_given().to_owned() })
}

/// Deletes a directory from the leaves up, by name and without following links, so that neither depth nor links matter.
fn delete_directory(workspace: &Dir, root: &str) -> fs::Result<()> {
    let mut found = vec![root.to_owned()];
    let mut emptied = 0;
    while emptied < found.len() {
        let dir = workspace.open_dir(&found[emptied])?;
        for entry in dir.read_dir()? {
            if entry.kind == Kind::Dir {
                found.push(lookup::join(&found[emptied], &entry.name));
            } else {
                dir.remove_file(&entry.name)?;
            }
        }
        emptied += 1;
    }
    // Each directory was found after the one that holds it.
    found.iter().rev().try_for_each(|directory| workspace.remove_dir(directory))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zipfs_sdk::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("a.txt", "a");
        bench.put("dir/deep/b.txt", "b");
        bench.put("dir/c.txt", "c");
        bench
    }

    #[test]
    fn a_file_goes_and_the_path_comes_back_as_given() {
        let bench = bench();
        assert_eq!(bench.call("zipfs_delete", json!({"path": "./a.txt"})).json(), json!({"deleted": true, "path": "./a.txt"}));
        assert_eq!(bench.get("a.txt"), None);
        assert_eq!(bench.call("zipfs_delete", json!({"path": "a.txt"})).error().code(), "PATH_NOT_FOUND");
    }

    #[test]
    fn a_directory_needs_recursive() {
        let bench = bench();
        assert_eq!(bench.call("zipfs_delete", json!({"path": "dir"})).error().code(), "INVALID_PARAMS");
        assert!(bench.get("dir/c.txt").is_some());
        bench.call("zipfs_delete", json!({"path": "dir", "recursive": true})).json();
        assert!(!bench.host_path().join("dir").exists());
        assert!(bench.get("a.txt").is_some());
    }

    #[test]
    fn the_root_stays() {
        let bench = bench();
        for path in ["/", "", ".", "./", "./."] {
            let called = bench.call("zipfs_delete", json!({"path": path, "recursive": true}));
            assert_eq!(called.error().code(), "INVALID_PARAMS", "{path:?}");
        }
        assert!(bench.get("dir/c.txt").is_some());
    }

    #[test]
    fn a_path_through_a_file_is_not_found() {
        assert_eq!(bench().call("zipfs_delete", json!({"path": "a.txt/x"})).error().code(), "PATH_NOT_FOUND");
    }

    #[cfg(unix)]
    #[test]
    fn links_go_and_what_they_lead_to_stays() {
        let bench = bench();
        let outside = bench.host_path().parent().unwrap().join("secret");
        std::fs::write(&outside, "secret").unwrap();
        std::os::unix::fs::symlink("..", bench.host_path().join("dir/up")).unwrap();
        std::os::unix::fs::symlink("../secret", bench.host_path().join("out")).unwrap();
        bench.call("zipfs_delete", json!({"path": "dir", "recursive": true})).json();
        bench.call("zipfs_delete", json!({"path": "out"})).json();
        assert!(outside.exists() && bench.get("a.txt").is_some());
        std::os::unix::fs::symlink("..", bench.host_path().join("up")).unwrap();
        assert_eq!(bench.call("zipfs_delete", json!({"path": "up/secret"})).error().code(), "PATH_TRAVERSAL");
        assert!(outside.exists());
    }
}
