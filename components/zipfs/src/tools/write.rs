//! `zipfs_write`: a file gets new contents, all of them in one step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError, Kind};
use zipfs_sdk::path::{PathArgument, WorkspacePath};
use zipfs_sdk::{Error, Tool, files};

use crate::encoding::Encoding;

const DESCRIPTION: &str = "\
Writes a file of the session: creates it, or replaces all of it. Use encoding 'base64' for binary contents. Directories above it \
are made unless create_dirs is false. Readers see the old contents or the new ones, never a mixture. The archive itself changes \
only with zipfs_sync. Returns written and size_bytes. To change part of a file, zipfs_read it and write the whole.";

pub fn tool() -> Tool {
    Tool::new("zipfs_write", DESCRIPTION, write).title("Write file").writes().idempotent(true).uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the root of the archive.
    path: PathArgument,
    /// The new contents.
    content: String,
    /// 'utf-8' if the content is the text itself, 'base64' if it is encoded bytes.
    #[serde(default)]
    encoding: Encoding,
    /// Whether to make the directories above it.
    #[serde(default = "yes")]
    create_dirs: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
struct Written {
    written: bool,
    /// Bytes in the file.
    size_bytes: usize,
}

fn write(arguments: Arguments) -> Result<Written, Error> {
    let path = arguments.path.check()?;
    let bytes = arguments.encoding.decode(arguments.content)?;
    let Some(parent) = path.parent() else { return Err(is_directory(&path)) };
    let workspace = fs::workspace()?;
    refuse_what_cannot_be_replaced(&workspace, &path)?;
    let mut made = Vec::new();
    if !parent.is_root() {
        match workspace.stat_target(parent.as_str()) {
            Ok(found) if found.kind == Kind::Dir => {}
            Ok(_) => return Err(goes_through_a_file(&path)),
            Err(IoError::NotFound) if arguments.create_dirs => made = create_directories(&workspace, &parent)?,
            Err(IoError::NotFound) => {
                return Err(IoError::NotFound.at(&parent).suggest("With create_dirs=true it is made."));
            }
            Err(IoError::NotDir) => return Err(goes_through_a_file(&path)),
            Err(error) => return Err(error.at(&parent)),
        }
    }
    if let Err(error) = replace(&path, &bytes) {
        remove_directories(&workspace, &made);
        return Err(error);
    }
    Ok(Written { written: true, size_bytes: bytes.len() })
}

fn replace(path: &WorkspacePath, bytes: &[u8]) -> Result<(), Error> {
    let replacement = files::replace(path)?;
    replacement.write(bytes)?;
    replacement.commit()
}

/// A link that stays inside is replaced by the file; one that leads out is refused, so that the attempt has a name.
fn refuse_what_cannot_be_replaced(workspace: &Dir, path: &WorkspacePath) -> Result<(), Error> {
    let kind = match workspace.stat(path.as_str()) {
        Ok(found) if found.kind == Kind::Symlink => workspace.stat_target(path.as_str()).map(|found| found.kind),
        found => found.map(|found| found.kind),
    };
    match kind {
        Ok(Kind::File) | Err(IoError::NotFound) => Ok(()),
        Ok(Kind::Dir) => Err(is_directory(path)),
        Ok(Kind::Symlink | Kind::Other) => {
            Err(Error::invalid("INVALID_PARAMS", format!("'{path}' is neither a file nor a directory.")))
        }
        Err(IoError::NotDir) => Err(goes_through_a_file(path)),
        Err(error) => Err(error.at(path)),
    }
}

fn is_directory(path: &WorkspacePath) -> Error {
    let next = if path.is_root() { "Name a file in it." } else { "Name a file in it, or delete it first with zipfs_delete." };
    IoError::IsDir.at(path).suggest(next)
}

fn goes_through_a_file(path: &WorkspacePath) -> Error {
    Error::invalid("INVALID_PARAMS", format!("'{path}' cannot be written: a file is where one of its directories would be."))
        .suggest("Choose another path, or delete that file first with zipfs_delete.")
}

/// Makes a directory and those above it, and returns those that were not there. What another call makes meanwhile is as good as
/// made by us.
fn create_directories(workspace: &Dir, path: &WorkspacePath) -> Result<Vec<String>, Error> {
    let (mut made, mut made_here) = (String::new(), Vec::new());
    for component in path.components() {
        made = crate::lookup::join(&made, component);
        match workspace.create_dir(&made) {
            Ok(()) => made_here.push(made.clone()),
            Err(IoError::Exists) => {}
            Err(error) => {
                remove_directories(workspace, &made_here);
                return Err(error.at(&made));
            }
        }
    }
    Ok(made_here)
}

/// A write that failed leaves nothing behind. A directory that another call has put something into stays.
fn remove_directories(workspace: &Dir, made: &[String]) {
    for directory in made.iter().rev() {
        let _ = workspace.remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zipfs_sdk::testing::Bench;

    fn bench() -> Bench {
        let bench = Bench::of::<crate::Zipfs>();
        bench.put("a.txt", "old");
        bench.put("dir/b.txt", "b");
        bench
    }

    #[test]
    fn creates_and_replaces() {
        let bench = bench();
        for (path, content) in [("a.txt", "new"), ("dir/c.txt", "é"), ("./x//y/z.txt", ""), ("dir/", "no")] {
            let called = bench.call("zipfs_write", json!({"path": path, "content": content}));
            if path == "dir/" {
                assert_eq!(called.error().code(), "INVALID_PARAMS");
            } else {
                assert_eq!(called.json(), json!({"written": true, "size_bytes": content.len()}));
                assert_eq!(bench.get(path).unwrap(), content.as_bytes());
            }
        }
        let staged = bench.host_path().parent().unwrap().join("staging");
        assert_eq!(std::fs::read_dir(staged).unwrap().count(), 0);
    }

    #[test]
    fn base64_is_decoded_and_counted_decoded() {
        let bench = bench();
        let called = bench.call("zipfs_write", json!({"path": "bin", "content": "iVD/AA==", "encoding": "base64"}));
        assert_eq!(called.json(), json!({"written": true, "size_bytes": 4}));
        assert_eq!(bench.get("bin").unwrap(), [0x89, b'P', 0xff, 0]);
        let bad = bench.call("zipfs_write", json!({"path": "bin", "content": "iVD/AA", "encoding": "base64"}));
        assert_eq!(bad.error().code(), "INVALID_PARAMS");
        assert_eq!(bench.get("bin").unwrap().len(), 4);
    }

    #[test]
    fn directories_are_made_only_if_wanted() {
        let bench = bench();
        let called = bench.call("zipfs_write", json!({"path": "n/m/f", "content": "", "create_dirs": false}));
        assert_eq!(called.error().code(), "PATH_NOT_FOUND");
        assert!(!bench.host_path().join("n").exists());
        bench.call("zipfs_write", json!({"path": "n/m/f", "content": "1"})).json();
        bench.call("zipfs_write", json!({"path": "n/m/f", "content": "2", "create_dirs": false})).json();
        assert_eq!(bench.get("n/m/f").unwrap(), b"2");
    }

    #[test]
    fn what_is_no_place_for_a_file() {
        let bench = bench();
        for (path, create_dirs) in
            [("dir", true), ("/", true), ("", false), ("a.txt/x", true), ("a.txt/x", false), ("a.txt/x/y", true)]
        {
            let called = bench.call("zipfs_write", json!({"path": path, "content": "x", "create_dirs": create_dirs}));
            assert_eq!(called.error().code(), "INVALID_PARAMS", "{path} {create_dirs}");
        }
        assert_eq!(bench.get("a.txt").unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_stays() {
        use std::os::unix::fs::PermissionsExt;
        let bench = bench();
        let file = bench.host_path().join("a.txt");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o750)).unwrap();
        bench.call("zipfs_write", json!({"path": "a.txt", "content": "new"})).json();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_refused() {
        let bench = bench();
        let outside = bench.host_path().parent().unwrap().join("secret");
        std::fs::write(&outside, "secret").unwrap();
        for (target, name) in [("../secret", "out"), ("..", "up"), ("../born", "dangling-out")] {
            std::os::unix::fs::symlink(target, bench.host_path().join(name)).unwrap();
        }
        for path in ["out", "up/secret", "up/new", "dangling-out"] {
            let called = bench.call("zipfs_write", json!({"path": path, "content": "x"}));
            assert_eq!(called.error().code(), "PATH_TRAVERSAL", "{path}");
        }
        assert_eq!(std::fs::read(&outside).unwrap(), b"secret");
        assert!(!outside.with_file_name("new").exists() && !outside.with_file_name("born").exists());
    }
}
