//! What a tool says while it works, and of what it offers.

use std::thread::sleep;
use std::time::Duration;

use zipfs_sdk::changes::{self, Changed};
use zipfs_sdk::{Error, NoArguments, Outcome, log, progress};

use crate::answers::said;

const PAUSE: Duration = Duration::from_millis(50);

pub fn logging(_: NoArguments) -> Result<Outcome, Error> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        log::info(line);
        sleep(PAUSE);
    }
    Ok(said("Tool with logging executed successfully"))
}

pub fn log_once(_: NoArguments) -> Result<Outcome, Error> {
    log::info("The logging tool was called");
    Ok(said("Logged."))
}

pub fn progress(_: NoArguments) -> Result<Outcome, Error> {
    for done in [0.0, 50.0, 100.0] {
        progress::report(done, Some(100.0), Some(&format!("Completed step {done} of 100")));
        sleep(PAUSE);
    }
    Ok(said("Tool with progress executed successfully"))
}

pub fn reconnection(_: NoArguments) -> Result<Outcome, Error> {
    sleep(2 * PAUSE);
    Ok(said("Reconnection test completed successfully."))
}

pub fn tools_changed(_: NoArguments) -> Result<Outcome, Error> {
    changes::announce(&Changed::Tools);
    Ok(said("Tool list change announced."))
}

pub fn prompts_changed(_: NoArguments) -> Result<Outcome, Error> {
    changes::announce(&Changed::Prompts);
    Ok(said("Prompt list change announced."))
}
