//! Creates empty files without end: no bytes, but each has a name and an inode.

use zipfs_guests::{Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, fs};

struct Files;

impl Plugin for Files {
    fn about() -> About {
        About::new("files", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("files", "Creates files without end. Returns {taken, error}.", files).writes(), harmless("files_ok")]
    }
}

zipfs_sdk::export!(Files);

fn files(_: NoArguments) -> Result<Stopped, Error> {
    let workspace = fs::workspace()?;
    until_refused(|taken| workspace.create_file(&format!("f{taken}")).map(|_| 1))
}
