//! `list://{path}`: what is in a directory.

use serde::Serialize;
use zipfs_sdk::fs::{self, Dir, IoError, Kind};
use zipfs_sdk::path::WorkspacePath;
use zipfs_sdk::resources::{ResourceEntry, ResourceTemplate, Resources};
use zipfs_sdk::{Error, ResourceBody, ResourceContents};

use crate::Rootspace;
use crate::trouble::{not_found, of_io, shown};

const SCHEME: &str = "list://";

const JSON: &str = "application/json";

/// More entries than a model can use; their names alone could fill the memory of a call. Test: `a_directory_is_listed_up_to_a_limit`.
pub const MOST_ENTRIES: usize = 20_000;

impl Resources for Rootspace {
    fn list() -> Result<Vec<ResourceEntry>, Error> {
        // Without a directory there is nothing to list, which is no error while somebody looks at what all plugins have.
        if fs::workspace().is_err() {
            return Ok(Vec::new());
        }
        Ok(vec![ResourceEntry {
            uri: "list:///".into(),
            name: "/".into(),
            title: Some("The root directory".into()),
            description: None,
            mime_type: Some(JSON.into()),
            size: None,
            icons: Vec::new(),
        }])
    }

    fn templates() -> Result<Vec<ResourceTemplate>, Error> {
        Ok(vec![ResourceTemplate {
            uri_template: "list://{path}".into(),
            name: "list".into(),
            title: Some("Directory".into()),
            description: Some(
                "What a directory holds: name and type of each entry, directories first. list:/// is the root.".into(),
            ),
            mime_type: Some(JSON.into()),
            icons: Vec::new(),
        }])
    }

    fn read(uri: &str) -> Result<Vec<ResourceContents>, Error> {
        let unknown = || Error::not_found("RESOURCE_NOT_FOUND", format!("There is no resource '{uri}'."));
        let encoded = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        // Decoded before it is normalised, else `%2e%2e` would be a name to one and a way up to the other.
        let path = WorkspacePath::resolve(&decode(encoded)?)?;
        let listing = Listing { path: shown(&path), entries: entries(&path)? };
        let text = serde_json::to_string(&listing)
            .map_err(|error| Error::internal("INTERNAL_ERROR", format!("The list is no JSON: {error}.")))?;
        Ok(vec![ResourceContents { uri: uri.to_owned(), mime_type: Some(JSON.into()), body: ResourceBody::Text(text) }])
    }
}

#[derive(Serialize)]
struct Listing {
    path: String,
    entries: Vec<Entry>,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    // First, so that it orders first: directories, then files.
    r#type: Type,
    name: String,
}

#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Type {
    Directory,
    File,
    /// A link that leads nowhere, or out.
    Link,
}

fn entries(path: &WorkspacePath) -> Result<Vec<Entry>, Error> {
    let workspace = fs::workspace()?;
    let failed = |error| match error {
        IoError::NotDir if workspace.stat(path.as_str()).is_ok() => {
            Error::invalid("NOT_A_DIRECTORY", format!("{} is a file.", shown(path))).suggest("Read it with text.read.")
        }
        other => of_io(other, path),
    };
    let stat = workspace.stat_target(path.as_str()).map_err(failed)?;
    match stat.kind {
        Kind::Dir => {}
        Kind::File => return Err(failed(IoError::NotDir)),
        Kind::Symlink | Kind::Other => return Err(not_found(path)),
    }
    let dir = workspace.open_dir(path.as_str()).map_err(failed)?;
    let found = dir.read_dir().map_err(failed)?;
    if found.len() > MOST_ENTRIES {
        let message = format!("{} has {} entries; at most {MOST_ENTRIES} are listed.", shown(path), found.len());
        return Err(Error::limit("TOO_LARGE", message).suggest("Read the files by name, or list a directory below."));
    }
    let mut entries: Vec<Entry> = found
        .into_iter()
        .filter_map(|entry| Some(Entry { r#type: kind_of(&workspace, path, &entry)?, name: entry.name }))
        .collect();
    entries.sort_unstable();
    Ok(entries)
}

/// What an entry is; a link is what it leads to, seen from the root: one that goes up and stays inside is a good one. Pipes and
/// devices do not exist here.
fn kind_of(workspace: &Dir, directory: &WorkspacePath, entry: &fs::Entry) -> Option<Type> {
    match entry.kind {
        Kind::Dir => Some(Type::Directory),
        Kind::File => Some(Type::File),
        Kind::Other => None,
        Kind::Symlink => {
            let path = format!("{}/{}", directory.as_str(), entry.name);
            Some(match workspace.stat_target(&path).map(|stat| stat.kind) {
                Ok(Kind::Dir) => Type::Directory,
                Ok(Kind::File) => Type::File,
                _ => Type::Link,
            })
        }
    }
}

/// Undoes the escapes of a URI. Clients escape slashes in `{path}`.
fn decode(encoded: &str) -> Result<String, Error> {
    let invalid = || Error::invalid("INVALID_PARAMS", "The URI holds a '%' without two hexadecimal digits that make UTF-8.");
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|digit| (*digit as char).to_digit(16));
        match (digit(0), digit(1)) {
            (Some(high), Some(low)) => bytes.push((high << 4 | low) as u8),
            _ => return Err(invalid()),
        }
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_once() {
        for (encoded, expected) in
            [("a%2Fb", "a/b"), ("%2e%2e/x", "../x"), ("%252e", "%2e"), ("a b?c#d", "a b?c#d"), ("%C3%A9", "é")]
        {
            assert_eq!(decode(encoded).unwrap(), expected);
        }
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode(broken).unwrap_err().code(), "INVALID_PARAMS", "{broken}");
        }
    }
}
