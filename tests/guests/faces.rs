//! A plugin whose name, version and words stand in its bytes as they are, so that a test can exchange each for one as long: as
//! many plugins, and as many versions of one, as it needs.

// Exports by hand: their names are none that the linker of another target takes.
#![cfg(target_family = "wasm")]

use std::hint::black_box;
use std::time::Duration;

use zipfs_sdk::bindings::plugin::{self, exports::zipfs::plugin::tools::*};

const NAME: &str = "faces-00000";
const TOOL: &str = "faces_00000";
const VERSION: &str = "10000.0.0";
const DESCRIPTION: &str = "Waits so many milliseconds and says its version. Face A.";
const SCHEMA: &str = r#"{"type":"object","properties":{"wait":{"type":"integer"}},"description":"Schema A."}"#;

struct Faces;

plugin::export_plugin_world!(Faces with_types_in plugin);

/// As it is in the bytes, not as the compiler would have it.
fn text(constant: &'static str) -> String {
    black_box(constant).to_owned()
}

impl Guest for Faces {
    fn describe() -> PluginDescription {
        let access = Access {
            workspace: WorkspaceAccess::None,
            capabilities: Vec::new(),
            role: None,
            destructive: false,
            idempotent: true,
            open_world: false,
        };
        let tool = Tool {
            name: text(TOOL),
            title: None,
            description: text(DESCRIPTION),
            input_schema: text(SCHEMA),
            output_schema: None,
            icons: Vec::new(),
            meta: None,
            access,
        };
        PluginDescription { name: text(NAME), version: text(VERSION), title: None, instructions: None, tools: vec![tool] }
    }

    fn call(_: String, arguments: String, _: Option<Resumption>) -> Result<Reply, Error> {
        let digits: String = arguments.chars().filter(char::is_ascii_digit).collect();
        std::thread::sleep(Duration::from_millis(digits.parse().unwrap_or(0)));
        let structured = Some(format!(r#"{{"version":"{}"}}"#, text(VERSION)));
        Ok(Reply::Complete(Outcome { content: Vec::new(), structured }))
    }
}
