//! Has an input schema that is no JSON Schema, so that no argument could be checked against it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use zipfs_sdk::{About, Outcome, Plugin, Tool};

struct ImposterSchema;

impl Plugin for ImposterSchema {
    fn about() -> About {
        About::new("imposter-schema", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("imposter_schema", "Takes anything.", |_: Anything| Ok(Outcome::new()))]
    }
}

zipfs_sdk::export!(ImposterSchema);

#[derive(Deserialize)]
struct Anything {}

impl JsonSchema for Anything {
    fn schema_name() -> Cow<'static, str> {
        "Anything".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": { "path": { "type": "anything", "minLength": "none" } }, "required": "path" })
    }
}
