//! Never comes back from saying who it is.

use zipfs_sdk::{About, Plugin, Tool};

struct SpinInDescribe;

impl Plugin for SpinInDescribe {
    fn about() -> About {
        loop {
            std::hint::spin_loop();
        }
    }

    fn tools() -> Vec<Tool> {
        vec![zipfs_guests::harmless("spin_in_describe")]
    }
}

zipfs_sdk::export!(SpinInDescribe);
