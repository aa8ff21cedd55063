//! Takes memory without end, and touches it.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Grow;

impl Plugin for Grow {
    fn about() -> About {
        About::new("grow", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("grow", "Takes memory without end.", grow), zipfs_guests::harmless("grow_ok")]
    }
}

zipfs_sdk::export!(Grow);

fn grow(_: NoArguments) -> Result<Outcome, Error> {
    let mut taken = Vec::new();
    loop {
        taken.push(std::hint::black_box(vec![1u8; 1 << 20]));
    }
}
