//! Declares one structured result and gives another.

use schemars::JsonSchema;
use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct WrongSchema;

impl Plugin for WrongSchema {
    fn about() -> About {
        About::new("wrong-schema", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime = Tool::new("wrong_schema", "Promises a number. Returns {count}.", wrong_schema).returns::<Promised>();
        vec![crime, zipfs_guests::harmless("wrong_schema_ok")]
    }
}

zipfs_sdk::export!(WrongSchema);

#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is only promised")]
struct Promised {
    count: u64,
}

fn wrong_schema(_: NoArguments) -> Result<Outcome, Error> {
    Outcome::new().structured(&serde_json::json!({ "count": "many" }))
}
