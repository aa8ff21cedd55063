//! Appends ten million times one byte: little data, and each byte a question to the host.

use std::io::Write;

use zipfs_guests::{Stopped, harmless};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool};

struct TinyWrites;

impl Plugin for TinyWrites {
    fn about() -> About {
        About::new("tiny-writes", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime =
            Tool::new("tiny_writes", "Appends byte by byte, ten million times. Returns {taken, error}.", tiny_writes).writes();
        vec![crime, harmless("tiny_writes_ok")]
    }
}

zipfs_sdk::export!(TinyWrites);

fn tiny_writes(_: NoArguments) -> Result<Stopped, Error> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open("/workspace/tiny.bin");
    let mut file = opened.map_err(|error| Error::internal("NOT_CREATED", error.to_string()))?;
    for taken in 0..10_000_000 {
        if let Err(error) = file.write_all(b"x") {
            return Ok(Stopped { taken, error: error.kind().to_string() });
        }
    }
    Ok(Stopped { taken: 10_000_000, error: String::new() })
}
