//! Opens `pipe`, which a test made a named pipe: opening one waits in the kernel until somebody writes.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool, fs};

struct Fifo;

impl Plugin for Fifo {
    fn about() -> About {
        About::new("fifo", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("fifo", "Reads the file 'pipe'.", fifo).writes(), zipfs_guests::harmless("fifo_ok")]
    }
}

zipfs_sdk::export!(Fifo);

fn fifo(_: NoArguments) -> Result<Outcome, Error> {
    let pipe = fs::workspace()?.open_file("pipe").map_err(|error| error.at("pipe"))?;
    let bytes = pipe.read_chunk(0, 1024).map_err(|error| error.at("pipe"))?;
    Ok(Outcome::new().text(format!("Read {} bytes.", bytes.len())))
}
