//! The text that a client puts before its model: how the tools belong together.

use super::endpoint::Endpoint;
use crate::plugins::Registry;

/// Clients cut the text at about 2,048 characters; we stay below. Test: `protocol::eras::instructions_teach_the_workflow_and_stay_short`.
pub const MOST_CHARACTERS: usize = 2_000;

/// The plugins' own instructions, in order, as far as they fit.
pub fn instructions(registry: &Registry, endpoint: &Endpoint) -> String {
    let mut text = String::new();
    for plugin in registry.plugins.iter().filter(|plugin| endpoint.offers(plugin)) {
        let Some(own) = plugin.description.instructions.as_deref().map(str::trim).filter(|own| !own.is_empty()) else { continue };
        let used = text.chars().count();
        if used > 0 && used + own.chars().count() + 2 > MOST_CHARACTERS {
            continue;
        }
        if used > 0 {
            text.push_str("\n\n");
        }
        text.extend(own.chars().take(MOST_CHARACTERS - used));
    }
    text
}
