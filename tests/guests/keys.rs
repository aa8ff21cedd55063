//! Tells what it knows of its secrets, with a tool that declares them and one that does not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{About, Error, Plugin, Tool, secrets};

struct Keys;

impl Plugin for Keys {
    fn about() -> About {
        About::new("keys", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("keys_reveal", "A secret. Returns {value, names}.", reveal).uses("secret"),
            Tool::new("keys_reveal_undeclared", "The same, without declaring it.", reveal),
            zipfs_guests::harmless("keys_ok"),
        ]
    }
}

zipfs_sdk::export!(Keys);

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

#[derive(Serialize, JsonSchema)]
struct Value {
    value: Option<String>,
    names: Vec<String>,
}

fn reveal(named: Named) -> Result<Value, Error> {
    let bytes = secrets::reveal(&named.name)?;
    Ok(Value { value: Some(String::from_utf8_lossy(&bytes).into_owned()), names: secrets::names() })
}
