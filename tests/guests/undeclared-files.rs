//! Uses the capability `files` in a tool that does not declare it, though the plugin has it for another.

use zipfs_guests::{Attempts, harmless};
use zipfs_sdk::path::WorkspacePath;
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, files};

struct UndeclaredFiles;

impl Plugin for UndeclaredFiles {
    fn about() -> About {
        About::new("undeclared-files", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("undeclared_files", "Replaces a file without asking. Returns {attempts}.", attempt).writes(),
            // The same, honestly: it shows that the refusal above is for want of a declaration and nothing else.
            Tool::new("declared_files", "Replaces a file. Returns {attempts}.", attempt).writes().uses("files"),
            harmless("undeclared_files_ok"),
        ]
    }
}

zipfs_sdk::export!(UndeclaredFiles);

fn attempt(_: NoArguments) -> Result<Attempts, Error> {
    let path = WorkspacePath::parse("a.txt")?;
    let mut attempts = Attempts::default();
    attempts.note("files.replace", files::replace(&path).and_then(|file| file.write(b"replaced").and_then(|()| file.commit())));
    attempts.note("files.get-mode", files::mode(&path));
    attempts.note("files.set-mode", files::set_mode(&path, 0o777));
    Ok(attempts)
}
