//! Writes 100,000 log lines: to the host's log and, at the level of an emergency, to every client that listens.

use zipfs_sdk::log::{Level, write};
use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct FloodLog;

impl Plugin for FloodLog {
    fn about() -> About {
        About::new("flood-log", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("flood_log", "Writes 100,000 log lines.", flood), zipfs_guests::harmless("flood_log_ok")]
    }
}

zipfs_sdk::export!(FloodLog);

fn flood(_: NoArguments) -> Result<Outcome, Error> {
    for number in 0..100_000 {
        write(Level::Emergency, &format!("line {number}: {}", "x".repeat(1000)));
    }
    Ok(Outcome::new().text("Logged."))
}
