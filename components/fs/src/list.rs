//! `fs.listDirectory`: files and directories with names, sizes and dates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs::{self, IoError, Kind};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::place::Place;

const DESCRIPTION: &str = "\
Lists a directory, not what is below it. Returns files (name, path, size in bytes, modified_date in UTC) and directories (name, path), \
each sorted by name. Next: fs.readFile.";

/// More than anybody can use at once, and as JSON still in the memory of a call. Test: `a_directory_is_listed_up_to_a_limit`.
pub const MOST_ENTRIES: usize = 20_000;

pub fn tool() -> Tool {
    Tool::new("fs.listDirectory", DESCRIPTION, list).title("List directory").reads()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The directory, relative to the root; '/' and '.' are the root.
    #[serde(default = "root")]
    path: PathArgument,
}

fn root() -> PathArgument {
    ".".into()
}

#[derive(Default, Serialize, JsonSchema)]
struct Listing {
    files: Vec<File>,
    directories: Vec<Directory>,
}

#[derive(Serialize, JsonSchema)]
struct File {
    name: String,
    /// For fs.readFile, in the form in which the directory was given.
    path: String,
    /// In bytes.
    size: u64,
    /// When its contents last changed, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_date: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Directory {
    name: String,
    /// For fs.listDirectory, in the form in which the directory was given.
    path: String,
}

fn list(arguments: Arguments) -> Result<Listing, Error> {
    let place = Place::of(&arguments.path)?;
    let workspace = fs::workspace()?;
    let not_a_directory = |error| match error {
        IoError::NotDir => place.not_found("is not a directory"),
        other => place.failed(other),
    };
    if workspace.stat_target(place.path.as_str()).map_err(|error| place.failed(error))?.kind != Kind::Dir {
        return Err(place.not_found("is not a directory"));
    }
    let dir = workspace.open_dir(place.path.as_str()).map_err(not_a_directory)?;
    let mut entries = dir.read_dir().map_err(|error| place.failed(error))?;
    if entries.len() > MOST_ENTRIES {
        return Err(place.value_error(format!("The directory has {} entries; at most {MOST_ENTRIES} are listed.", entries.len())));
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut listing = Listing::default();
    for entry in entries {
        // A link is what it leads to, seen from the root; one that leads nowhere or out is left out, as is a file that went away.
        let stat = match entry.kind {
            Kind::Symlink => workspace.stat_target(&format!("{}/{}", place.path.as_str(), entry.name)),
            _ => dir.stat(&entry.name),
        };
        let Ok(stat) = stat else { continue };
        let path = place.of_entry(&entry.name);
        match stat.kind {
            Kind::Dir => listing.directories.push(Directory { name: entry.name, path }),
            Kind::File => {
                let modified_date = stat.modified.map(|time| time.to_string());
                listing.files.push(File { name: entry.name, path, size: stat.size, modified_date });
            }
            Kind::Symlink | Kind::Other => {}
        }
    }
    Ok(listing)
}
