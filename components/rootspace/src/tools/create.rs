//! `file.create`: a new file, with the directories above it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, Dir, IoError};
use zipfs_sdk::path::{PathArgument, WorkspacePath};
use zipfs_sdk::{Class, Error, Tool, files};

use crate::digest::Hash;
use crate::encoding::Encoding;
use crate::trouble::{exists, is_directory, of_io};

const DESCRIPTION: &str = "\
Creates a file with the given content, and the directories above it. The file must not exist: to change one, use the text tools. \
encoding 'base64' stores binary content. Returns hash, which the next edit of the file needs.";

pub fn tool() -> Tool {
    Tool::new("file.create", DESCRIPTION, create).title("Create file").writes().destructive(false).uses("files")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The new file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// What it holds; may be empty.
    content: String,
    /// 'utf-8' for text, 'base64' for anything else.
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Serialize, JsonSchema)]
struct Created {
    /// SHA-256 of the stored bytes.
    hash: String,
}

fn create(arguments: Arguments) -> Result<Created, Error> {
    let path = arguments.path.resolve()?;
    if path.is_root() {
        return Err(is_directory(&path));
    }
    let bytes = arguments.encoding.decode(arguments.content)?;
    let workspace = fs::workspace()?;
    match workspace.stat(path.as_str()) {
        Ok(stat) if stat.kind == fs::Kind::Dir => return Err(is_directory(&path)),
        Ok(_) => return Err(exists(&path)),
        Err(IoError::NotFound) => {}
        // A file where a directory would have to be.
        Err(IoError::NotDir) => return Err(blocked(&path)),
        Err(error) => return Err(of_io(error, &path)),
    }
    let made = make_directories(&workspace, &path)?;
    let stored = store(&workspace, &path, &bytes);
    if stored.is_err() {
        // Directories that nothing came into should not stay. One that somebody put something into does.
        for directory in made.iter().rev() {
            let _ = workspace.remove_dir(directory);
        }
    }
    stored.map(|()| Created { hash: Hash::of(&bytes).to_hex() })
}

fn store(workspace: &Dir, path: &WorkspacePath, bytes: &[u8]) -> Result<(), Error> {
    let failed = |error: Error| if error.class() == Class::Conflict { exists(path) } else { error };
    let held = files::hold(path)?;
    // Looked at again now that nobody else can make it: what came in between would be replaced.
    if workspace.stat(path.as_str()).is_ok() {
        return Err(exists(path));
    }
    let file = held.replace().map_err(failed)?;
    file.write(bytes)?;
    file.commit().map_err(failed)
}

/// Makes the directories above a file, and says which were not there.
fn make_directories(workspace: &Dir, path: &WorkspacePath) -> Result<Vec<String>, Error> {
    let mut made = Vec::new();
    let mut directory = String::new();
    let components: Vec<&str> = path.components().collect();
    for component in &components[..components.len() - 1] {
        if !directory.is_empty() {
            directory.push('/');
        }
        directory += component;
        match workspace.create_dir(&directory) {
            Ok(()) => made.push(directory.clone()),
            Err(IoError::Exists) => {}
            Err(IoError::NotDir) => return Err(blocked(path)),
            Err(error) => return Err(of_io(error, path)),
        }
    }
    Ok(made)
}

fn blocked(path: &WorkspacePath) -> Error {
    Error::invalid("NOT_A_DIRECTORY", format!("/{path} leads through a file.")).suggest("Choose another directory for it.")
}
