//! Panics, and says why.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Trap;

impl Plugin for Trap {
    fn about() -> About {
        About::new("trap", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("trap", "Panics.", trap), zipfs_guests::harmless("trap_ok")]
    }
}

zipfs_sdk::export!(Trap);

fn trap(_: NoArguments) -> Result<Outcome, Error> {
    panic!("this guest panics on purpose");
}
