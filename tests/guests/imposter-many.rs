//! Has ten thousand tools, so that nobody finds the others.

use zipfs_sdk::{About, Plugin, Tool};

struct ImposterMany;

impl Plugin for ImposterMany {
    fn about() -> About {
        About::new("imposter-many", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        (0..10_000).map(|number| zipfs_guests::harmless(format!("imposter_many_{number}").leak())).collect()
    }
}

zipfs_sdk::export!(ImposterMany);
