//! Writes into one file without end, through `std::fs` and so through WASI's streams.

use std::io::Write;

use zipfs_guests::{Stopped, harmless, until_refused};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct Fill;

impl Plugin for Fill {
    fn about() -> About {
        About::new("fill", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("fill", "Writes without end. Returns {taken, error}.", fill).writes(), harmless("fill_ok")]
    }
}

zipfs_sdk::export!(Fill);

fn fill(_: NoArguments) -> Result<Stopped, Error> {
    let block = vec![7; 1 << 20];
    let created = std::fs::File::create("/workspace/fill.bin");
    let mut file = created.map_err(|error| Error::internal("NOT_CREATED", error.to_string()))?;
    until_refused(|_| file.write(&block).map(|written| written as u64).map_err(|error| error.kind()))
}
