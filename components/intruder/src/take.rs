//! Taking without end: time, memory, disk.

use schemars::JsonSchema;
use serde::Serialize;
use zipfs_sdk::fs::{self, IoError};
use zipfs_sdk::{Error, NoArguments, Outcome};

/// The file that is meant to become as large as the disk.
const HOARD: &str = "intruder.bin";

pub fn loop_forever(_: NoArguments) -> Result<Outcome, Error> {
    loop {
        std::hint::spin_loop();
    }
}

pub fn eat_memory(_: NoArguments) -> Result<Outcome, Error> {
    let mut eaten = Vec::new();
    loop {
        eaten.push(std::hint::black_box(vec![1u8; 1 << 20]));
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Filled {
    written_bytes: u64,
    outcome: String,
}

/// Stops at the first refusal and leaves behind what it wrote, as one would who means it.
pub fn fill_disk(_: NoArguments) -> Result<Filled, Error> {
    let workspace = fs::workspace()?;
    let block = vec![0x5a; 1 << 20];
    let created = workspace.create_file(HOARD).or_else(|error| match error {
        IoError::Exists => workspace.open_file_to_write(HOARD),
        other => Err(other),
    });
    let file = created.map_err(|error| error.at(HOARD))?;
    let mut written_bytes = file.size().map_err(|error| error.at(HOARD))?;
    loop {
        match file.write_at(written_bytes, &block) {
            Ok(()) => written_bytes += block.len() as u64,
            Err(error) => return Ok(Filled { written_bytes, outcome: format!("refused: {error}") }),
        }
    }
}
