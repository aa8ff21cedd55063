//! Declares a structured result and gives only text.

use schemars::JsonSchema;
use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct NoStructured;

impl Plugin for NoStructured {
    fn about() -> About {
        About::new("no-structured", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime = Tool::new("no_structured", "Promises a number. Returns {count}.", no_structured).returns::<Promised>();
        vec![crime, zipfs_guests::harmless("no_structured_ok")]
    }
}

zipfs_sdk::export!(NoStructured);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only promised")]
struct Promised {
    count: u64,
}

fn no_structured(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text("There are some."))
}
