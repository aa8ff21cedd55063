//! `zipfs_open`: an archive becomes a session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{Error, Role, Tool, sessions};

const DESCRIPTION: &str = "\
Opens a zip archive (also .docx, .xlsx, .epub, .jar …) so that its files can be listed, read and changed. Use it first: the other \
tools work on an open session. The archive is extracted into a private workspace and stays untouched until zipfs_sync. Returns \
session_id, name, workspace_path, file_count, extracted_size_bytes, and warnings and skipped_symlinks, which the person should \
hear of. Next: zipfs_tree or zipfs_ls.";

pub fn tool() -> Tool {
    Tool::new("zipfs_open", DESCRIPTION, open).title("Open archive").role(Role::Operator).uses("sessions")
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Absolute path of the archive on the host.
    path: String,
    /// A name for the session, to be used in place of its id: 1 to 64 letters, digits, '_' or '-'.
    #[schemars(extend("pattern" = "^[A-Za-z0-9_-]{1,64}$"))]
    name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Opened {
    /// UUID of the session.
    session_id: String,
    /// Empty if none was given.
    name: String,
    /// Where the files are on the host.
    workspace_path: String,
    /// Regular files.
    file_count: u64,
    extracted_size_bytes: u64,
    /// What was let pass in the archive.
    warnings: Vec<String>,
    /// Links in the archive, which are not extracted.
    skipped_symlinks: Vec<String>,
}

fn open(arguments: Arguments) -> Result<Opened, Error> {
    let opened = sessions::open(&arguments.path, arguments.name.as_deref())?;
    Ok(Opened {
        session_id: opened.session.id,
        name: opened.session.name,
        workspace_path: opened.workspace_path,
        file_count: opened.session.file_count,
        extracted_size_bytes: opened.session.extracted_size_bytes,
        warnings: opened.warnings,
        skipped_symlinks: opened.skipped_symlinks,
    })
}
