//! Asks for a gibibyte of random numbers, which the host would have to make before it could hand them over.

use wasip2::random::random::get_random_bytes;
use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct RandomHuge;

impl Plugin for RandomHuge {
    fn about() -> About {
        About::new("random-huge", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("random_huge", "Asks for 1 GiB of random numbers.", random), zipfs_guests::harmless("random_huge_ok")]
    }
}

zipfs_sdk::export!(RandomHuge);

fn random(_: NoArguments) -> Result<Outcome, Error> {
    let bytes = get_random_bytes(1 << 30);
    Ok(Outcome::new().text(format!("Got {} bytes.", bytes.len())))
}
