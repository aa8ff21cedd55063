//! Files and text with hash-checked edits: every change names the hash of what was read, and loses if that is not there any more.
//!
//! `edit/` holds the changes as machines that a file flows through once, in pieces; `tools/` the tools that run them; `lines/` what
//! a line is. Nothing here holds a whole file.

#![deny(unsafe_code)]

pub mod digest;
pub mod edit;
mod encoding;
pub mod lines;
mod listing;
mod place;
mod tools;
mod trouble;

use zipfs_sdk::{About, Plugin, Tool};

/// The plugin.
pub struct Rootspace;

const INSTRUCTIONS: &str = "\
Files of one directory, edited with a check that nobody changed them meanwhile.

1. Read the resource list://{path} to see what a directory holds, text.read to read a file. text.read returns the hash of the whole \
file, whatever lines you ask for.
2. text.replace, text.insert, text.append, text.patch and file.remove take that hash. Each edit returns the new hash: use it for the \
next edit of the same file without reading again.
3. STALE_HASH means that somebody else changed the file: read it again, look at what is there now, and retry.

Lines count from 1. A range is [start, end] with end exclusive; negative numbers count from the end (-1 is the last line) and 0 is \
open: [5, 0] is everything from line 5, [-2, 0] the last two lines.
`old` and `anchor` are whole lines, exactly as they are in the file, indentation included.
Paths are POSIX paths inside the root; a leading '/' is the root, not the one of the machine.";

impl Plugin for Rootspace {
    fn about() -> About {
        About::new("rootspace", "0.1.0").title("RootSpace").instructions(INSTRUCTIONS)
    }

    fn tools() -> Vec<Tool> {
        vec![
            tools::create::tool(),
            tools::remove::tool(),
            tools::read::tool(),
            tools::replace::tool(),
            tools::insert::tool(),
            tools::append::tool(),
            tools::patch::tool(),
        ]
    }
}

zipfs_sdk::export!(Rootspace with resources);
