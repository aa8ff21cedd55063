//! What a tool says while it works.

use std::thread::sleep;
use std::time::Duration;

use zipfs_sdk::changes::{Changed, announce};
use zipfs_sdk::log::{Level, write};
use zipfs_sdk::progress::report;
use zipfs_sdk::{Error, NoArguments, Outcome};

pub fn steps(_: NoArguments) -> Result<Outcome, Error> {
    for (done, message) in [(0.0, "starting"), (50.0, "half way"), (100.0, "done")] {
        report(done, Some(100.0), Some(message));
        // Longer than a host holds reports back that follow each other closely.
        sleep(Duration::from_millis(30));
    }
    Ok(Outcome::new().text("Done."))
}

pub fn log(_: NoArguments) -> Result<Outcome, Error> {
    let levels = [
        (Level::Debug, "debug"),
        (Level::Info, "info"),
        (Level::Notice, "notice"),
        (Level::Warning, "warning"),
        (Level::Error, "error"),
        (Level::Critical, "critical"),
        (Level::Alert, "alert"),
        (Level::Emergency, "emergency"),
    ];
    for (level, name) in levels {
        write(level, &format!("A line of level {name}."));
    }
    Ok(Outcome::new().text("Logged."))
}

pub fn until_stopped(_: NoArguments) -> Result<Outcome, Error> {
    for step in 1..=6000 {
        report(f64::from(step), Some(6000.0), None);
        sleep(Duration::from_millis(10));
    }
    Ok(Outcome::new().text("Nobody stopped me."))
}

pub fn changes(_: NoArguments) -> Result<Outcome, Error> {
    for number in 0..1000 {
        for changed in [Changed::Tools, Changed::Prompts, Changed::Resources] {
            announce(&changed);
        }
        announce(&Changed::ResourceContents(format!("show://item/{number}")));
    }
    Ok(Outcome::new().text("Said."))
}
