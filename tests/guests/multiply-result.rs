//! Answers with one mebibyte, a thousand times over: each block of the answer points to the same memory, so the guest stays
//! small while the host would copy a gigabyte.

// Exports by hand: their names are none that the linker of another target takes.
#![cfg(target_family = "wasm")]

use zipfs_sdk::bindings::plugin::{self, exports::zipfs::plugin::tools::*};
use zipfs_sdk::{About, NoArguments, Plugin};

struct MultiplyResult;

impl Plugin for MultiplyResult {
    fn about() -> About {
        About::new("multiply-result", "0.1.0")
    }

    fn tools() -> Vec<zipfs_sdk::Tool> {
        let answer = |_: NoArguments| Ok(zipfs_sdk::Outcome::new());
        vec![
            zipfs_sdk::Tool::new("multiply_result", "Answers with a gigabyte.", answer),
            zipfs_guests::harmless("multiply_result_ok"),
        ]
    }
}

type Honest = zipfs_sdk::plugin::Answering<MultiplyResult>;

impl Guest for MultiplyResult {
    fn describe() -> PluginDescription {
        Honest::describe()
    }

    fn call(name: String, arguments: String, resumed: Option<Resumption>) -> Result<Reply, Error> {
        if name != "multiply_result" {
            return Honest::call(name, arguments, resumed);
        }
        let text = "x".repeat(1 << 20).leak();
        // SAFETY: there is none. Freeing the same text a thousand times breaks this guest, after the host has read its answer.
        let block = || Content::Text(unsafe { String::from_raw_parts(text.as_ptr().cast_mut(), text.len(), text.len()) });
        Ok(Reply::Complete(Outcome { content: (0..1000).map(|_| block()).collect(), structured: None }))
    }
}

plugin::export_plugin_world!(MultiplyResult with_types_in plugin);
