//! The tools of zipfs: open an archive, work on its files, write it back. One file per tool in `tools/`.

#![deny(unsafe_code)]

mod compare;
mod duration;
mod encoding;
mod lookup;
mod search;
mod tools;

use zipfs_sdk::{About, Plugin, Tool};

/// The plugin.
pub struct Zipfs;

const INSTRUCTIONS: &str = "\
zipfs lets you work on the files of a zip archive (also .docx, .xlsx, .epub, .jar) as if they were a directory. The archive \
itself changes only when you sync.

Workflow:
1. zipfs_open {path}: extracts the archive, given by its absolute path, into a private workspace and starts a session.
2. zipfs_tree or zipfs_ls to find your way, zipfs_grep to search, zipfs_read to read. Large files come in parts: while eof is false, read on at \
offset + size_bytes.
3. zipfs_write and zipfs_delete change the workspace only.
4. zipfs_status lists what differs from the archive, zipfs_diff shows how.
5. zipfs_sync writes the changes back; the old archive is kept as a backup. Its dry_run shows what would happen. \
CONFLICT_DETECTED means that somebody else changed the archive since it was opened: ask the person before using force.
6. zipfs_close ends the session. Without sync=true it throws away changes that were not synced.

Sessions: leave out `session` while exactly one is open. Otherwise give its name, its id, or at least four characters of the \
id; zipfs_sessions lists them.
Paths are relative to the root of the archive ('docs/a.txt'; '/' is the root). '..' and absolute paths are refused.
Text is UTF-8. For binary files use encoding 'base64', for reading and for writing.
zipfs_path gives the directory of the workspace on the host, for other programs that should work on the same files; \
zipfs_status and zipfs_sync see what they changed.";

impl Plugin for Zipfs {
    fn about() -> About {
        About::new("zipfs", env!("CARGO_PKG_VERSION")).title("zipfs").instructions(INSTRUCTIONS)
    }

    fn tools() -> Vec<Tool> {
        vec![
            tools::open::tool(),
            tools::close::tool(),
            tools::sessions::tool(),
            tools::ls::tool(),
            tools::tree::tool(),
            tools::read::tool(),
            tools::write::tool(),
            tools::delete::tool(),
            tools::grep::tool(),
            tools::diff::tool(),
            tools::path::tool(),
            tools::status::tool(),
            tools::sync::tool(),
            tools::prune::tool(),
        ]
    }
}

zipfs_sdk::export!(Zipfs with parts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_survive_clients_that_cut_them() {
        assert!(INSTRUCTIONS.chars().count() <= 1800, "{}", INSTRUCTIONS.chars().count());
    }
}
