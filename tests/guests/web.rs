//! Asks whatever address it is told to, with tools that declare it, that declare to change nothing, and that do not declare it.

use schemars::JsonSchema;
use serde::Serialize;
use zipfs_guests::web::send;
use zipfs_sdk::{About, Error, Plugin, Role, Tool, grants};

struct Web;

impl Plugin for Web {
    fn about() -> About {
        About::new("web", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let uses = |name, about| Tool::new(name, about, send).uses("http").open_world(true);
        vec![
            uses("web_send", "Sends a request. Returns {status, headers, body}.").role(Role::Operator),
            uses("web_read", "The same, declared to change nothing."),
            Tool::new("web_undeclared", "The same, without declaring it.", send).role(Role::Operator),
            Tool::new("web_grants", "What was granted. Returns {grants}.", granted).uses("http"),
            zipfs_guests::harmless("web_ok"),
        ]
    }
}

zipfs_sdk::export!(Web);

#[derive(Serialize, JsonSchema)]
struct Grants {
    grants: Vec<String>,
}

fn granted(_: zipfs_sdk::NoArguments) -> Result<Grants, Error> {
    Ok(Grants { grants: grants::list().into_iter().map(|granted| format!("{}={}", granted.kind, granted.name)).collect() })
}
