//! The least that a plugin can be: one tool that answers `{}`. What a call of it costs is what the host costs.

// Exports by hand: their names are none that the linker of another target takes.
#![cfg(target_family = "wasm")]

use zipfs_sdk::bindings::plugin::{self, exports::zipfs::plugin::tools::*};

struct Noop;

plugin::export_plugin_world!(Noop with_types_in plugin);

// Without the SDK's trait, which would bring a JSON parser and a generator of schemas.
impl Guest for Noop {
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
            name: "noop".into(),
            title: None,
            description: "Does nothing. Returns {}.".into(),
            input_schema: r#"{"type":"object","properties":{}}"#.into(),
            output_schema: None,
            icons: Vec::new(),
            meta: None,
            access,
        };
        PluginDescription { name: "noop".into(), version: "0.1.0".into(), title: None, instructions: None, tools: vec![tool] }
    }

    fn call(_: String, _: String, _: Option<Resumption>) -> Result<Reply, Error> {
        Ok(Reply::Complete(Outcome { content: Vec::new(), structured: Some("{}".into()) }))
    }
}
