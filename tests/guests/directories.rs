//! Creates directories without end.

use zipfs_guests::{Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, fs};

struct Directories;

impl Plugin for Directories {
    fn about() -> About {
        About::new("directories", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime = Tool::new("directories", "Creates directories without end. Returns {taken, error}.", directories).writes();
        vec![crime, harmless("directories_ok")]
    }
}

zipfs_sdk::export!(Directories);

fn directories(_: NoArguments) -> Result<Stopped, Error> {
    let workspace = fs::workspace()?;
    until_refused(|taken| workspace.create_dir(&format!("d{taken}")).map(|()| 1))
}
