//! Reports progress a million times, faster than any client can show it.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool, progress};

struct FloodProgress;

impl Plugin for FloodProgress {
    fn about() -> About {
        About::new("flood-progress", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("flood_progress", "Reports progress a million times.", flood), zipfs_guests::harmless("flood_progress_ok")]
    }
}

zipfs_sdk::export!(FloodProgress);

fn flood(_: NoArguments) -> Result<Outcome, Error> {
    for step in 1..=1_000_000 {
        progress::report(f64::from(step), Some(1e6), Some("getting there"));
    }
    Ok(Outcome::new().text("Reported."))
}
