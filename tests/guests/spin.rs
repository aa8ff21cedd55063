//! Never comes back from a call.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Spin;

impl Plugin for Spin {
    fn about() -> About {
        About::new("spin", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("spin", "Never comes back.", spin), zipfs_guests::harmless("spin_ok")]
    }
}

zipfs_sdk::export!(Spin);

fn spin(_: NoArguments) -> Result<Outcome, Error> {
    loop {
        std::hint::spin_loop();
    }
}
