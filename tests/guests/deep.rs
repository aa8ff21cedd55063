//! Calls itself without end.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Deep;

impl Plugin for Deep {
    fn about() -> About {
        About::new("deep", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("deep", "Calls itself without end.", deep), zipfs_guests::harmless("deep_ok")]
    }
}

zipfs_sdk::export!(Deep);

fn deep(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text(deeper(0).to_string()))
}

#[allow(unconditional_recursion)]
fn deeper(level: u64) -> u64 {
    // Work after the call keeps it from becoming a loop.
    std::hint::black_box(deeper(std::hint::black_box(level + 1))) + 1
}
