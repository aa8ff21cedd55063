//! The guest that `zipfs demo` sets loose. It holds nothing back: what it reports is what the sandbox let through.

#![deny(unsafe_code)]

mod attempts;
mod escape;
mod take;

use zipfs_sdk::{About, Plugin, Tool};

struct Intruder;

impl Plugin for Intruder {
    fn about() -> About {
        About::new("intruder", env!("CARGO_PKG_VERSION")).title("Intruder")
    }

    fn tools() -> Vec<Tool> {
        let escaping = "Part of the demonstration: tries to reach what is outside the workspace. Returns {attempts, escaped}.";
        let looping = "Part of the demonstration: computes until it is stopped.";
        let eating = "Part of the demonstration: takes memory until it is stopped.";
        let filling = "Part of the demonstration: writes into one file until it is refused. Returns {written_bytes, outcome}.";
        vec![
            Tool::new("escape", escaping, escape::escape).title("Escape").writes(),
            Tool::new("loop_forever", looping, take::loop_forever).title("Loop for ever"),
            Tool::new("eat_memory", eating, take::eat_memory).title("Eat memory"),
            Tool::new("fill_disk", filling, take::fill_disk).title("Fill the disk").writes(),
        ]
    }
}

zipfs_sdk::export!(Intruder);
