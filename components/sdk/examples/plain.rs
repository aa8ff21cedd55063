//! The smallest plugin: one tool that touches nothing. What it imports is the least that any plugin imports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{About, Error, Plugin, Tool};

struct Plain;

impl Plugin for Plain {
    fn about() -> About {
        About::new("plain", env!("CARGO_PKG_VERSION"))
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("plain_add", "Adds two numbers. Returns {sum}.", add).title("Add").idempotent(true)]
    }
}

zipfs_sdk::export!(Plain);

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

fn add(numbers: Add) -> Result<Sum, Error> {
    Ok(Sum { sum: numbers.a + numbers.b })
}
