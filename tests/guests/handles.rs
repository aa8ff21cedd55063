//! Opens the same file for ever and closes none.

use zipfs_guests::{Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, fs};

struct Handles;

impl Plugin for Handles {
    fn about() -> About {
        About::new("handles", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("handles", "Opens a file without end. Returns {taken, error}.", handles).writes(), harmless("handles_ok")]
    }
}

zipfs_sdk::export!(Handles);

fn handles(_: NoArguments) -> Result<Stopped, Error> {
    let workspace = fs::workspace()?;
    let file = workspace.create_file("handles.txt").or_else(|_| workspace.open_file("handles.txt"));
    let mut open = vec![file.map_err(|error| error.at("handles.txt"))?];
    until_refused(|_| workspace.open_file("handles.txt").map(|file| open.push(file)).map(|()| 1))
}
