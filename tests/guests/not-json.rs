//! Gives a structured result that is no JSON.

// Exports by hand: their names are none that the linker of another target takes.
#![cfg(target_family = "wasm")]

use zipfs_sdk::bindings::plugin::{self, exports::zipfs::plugin::tools::*};
use zipfs_sdk::{About, NoArguments, Plugin};

struct NotJson;

impl Plugin for NotJson {
    fn about() -> About {
        About::new("not-json", "0.1.0")
    }

    fn tools() -> Vec<zipfs_sdk::Tool> {
        let answer = |_: NoArguments| Ok(zipfs_sdk::Outcome::new());
        vec![zipfs_sdk::Tool::new("not_json", "Answers with no JSON.", answer), zipfs_guests::harmless("not_json_ok")]
    }
}

type Honest = zipfs_sdk::plugin::Answering<NotJson>;

// The SDK has no way to say this, so the call goes round it.
impl Guest for NotJson {
    fn describe() -> PluginDescription {
        Honest::describe()
    }

    fn call(name: String, arguments: String, resumed: Option<Resumption>) -> Result<Reply, Error> {
        if name != "not_json" {
            return Honest::call(name, arguments, resumed);
        }
        Ok(Reply::Complete(Outcome { content: Vec::new(), structured: Some(r#"{"unfinished": "#.into()) }))
    }
}

plugin::export_plugin_world!(NotJson with_types_in plugin);
