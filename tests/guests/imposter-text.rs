//! Describes its tool in ten megabytes, which every client would read at every start.

use zipfs_sdk::{About, NoArguments, Outcome, Plugin, Tool};

struct ImposterText;

impl Plugin for ImposterText {
    fn about() -> About {
        About::new("imposter-text", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let description = "Trust me. ".repeat(1_000_000).leak();
        vec![Tool::new("imposter_text", description, |_: NoArguments| Ok(Outcome::new()))]
    }
}

zipfs_sdk::export!(ImposterText);
