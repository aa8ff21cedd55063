//! The law-abiding guest: every kind of answer, question, resource and prompt that the contract has, for tests of the protocol.

#![deny(unsafe_code)]

mod arguments;
mod content;
mod progress;
mod prompts;
mod questions;
mod resources;

use serde_json::json;
use zipfs_sdk::{About, Icon, Plugin, Tool};

struct Showcase;

impl Plugin for Showcase {
    fn about() -> About {
        About::new("showcase", "0.1.0").title("Showcase").instructions("Each tool shows one thing that a tool can do.")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("show_text", "Shows text.", content::text)
                .title("Text")
                .icon(dot())
                .meta(|| json!({ "example.org/shelf": "top" })),
            Tool::new("show_image", "Shows a picture.", content::image).title("Picture"),
            Tool::new("show_audio", "Plays a moment of silence.", content::audio).title("Sound"),
            Tool::new("show_embedded", "Shows a resource within the answer.", content::embedded).title("Embedded resource"),
            Tool::new("show_link", "Points to a resource.", content::link).title("Link"),
            Tool::new("show_mixed", "Shows text, a picture and a link together.", content::mixed).title("Mixture"),
            Tool::new("show_structured", "Shows a structured result. Returns {name, numbers}.", content::structured)
                .idempotent(true),
            Tool::new("show_error", "Fails with a conflict.", content::error).title("Failure"),
            Tool::new("show.dotted", "Shows text, under a name that some clients refuse.", content::dotted).title("Dotted name"),
            Tool::new("show_arguments", "Shows its arguments. Returns {text, count, mode}.", arguments::show).title("Arguments"),
            Tool::new("show_client", "Shows who calls. Returns {elicitation, sampling, roots, revision}.", arguments::client),
            Tool::new("show_count_files", "Counts the files at the root. Returns {files}.", arguments::count_files).reads(),
            Tool::new("show_progress", "Reports progress three times.", progress::steps).title("Progress"),
            Tool::new("show_log", "Writes one log line of each level.", progress::log).title("Log"),
            Tool::new("show_cancel", "Reports progress for a minute unless it is stopped.", progress::until_stopped)
                .title("Cancellation"),
            Tool::new("show_changes", "Says a thousand times that everything changed.", progress::changes).title("Changes"),
            Tool::new("show_ask", "Asks for a name, and greets.", questions::once).title("Question"),
            Tool::new("show_ask_twice", "Asks for a name, then for a colour.", questions::twice).title("Two questions"),
            Tool::new("show_sample", "Asks the client's model.", questions::sample).title("Sampling"),
            Tool::new("show_roots", "Asks where the client works.", questions::roots).title("Roots"),
        ]
    }
}

zipfs_sdk::export!(Showcase with resources, prompts, completions);

/// A grey dot, one pixel wide.
fn dot() -> Icon {
    const SRC: &str =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==";
    Icon { src: SRC.into(), mime_type: Some("image/png".into()), sizes: vec!["1x1".into()] }
}
