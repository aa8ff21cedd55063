//! Answers with more text than anybody can use.

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::{About, Error, Outcome, Plugin, Tool};

struct FloodResult;

impl Plugin for FloodResult {
    fn about() -> About {
        About::new("flood-result", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("flood_result", "Answers with a flood.", flood), zipfs_guests::harmless("flood_result_ok")]
    }
}

zipfs_sdk::export!(FloodResult);

#[derive(Deserialize, JsonSchema)]
struct Flood {
    /// How much; with little enough the guest's own memory is not what ends it.
    #[serde(default = "much")]
    mebibytes: usize,
}

fn much() -> usize {
    64
}

fn flood(arguments: Flood) -> Result<Outcome, Error> {
    Ok(Outcome::new().text("x".repeat(arguments.mebibytes << 20)))
}
