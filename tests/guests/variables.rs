//! Tells what it knows of its environment, with a tool that declares it and one that does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{About, Error, Plugin, Tool};

struct Variables;

impl Plugin for Variables {
    fn about() -> About {
        About::new("variables", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("variables", "A variable. Returns {value, names}.", environment).uses("environment"),
            Tool::new("variables_undeclared", "The same, without declaring it.", environment),
            zipfs_guests::harmless("variables_ok"),
        ]
    }
}

zipfs_sdk::export!(Variables);

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Value {
    value: Option<String>,
    names: Vec<String>,
}

fn environment(named: Named) -> Result<Value, Error> {
    Ok(Value { value: std::env::var(&named.name).ok(), names: std::env::vars().map(|(name, _)| name).collect() })
}
