//! Ends the program, as it thinks, with exit code 7.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Exit7;

impl Plugin for Exit7 {
    fn about() -> About {
        About::new("exit7", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("exit7", "Exits with code 7.", exit), zipfs_guests::harmless("exit7_ok")]
    }
}

zipfs_sdk::export!(Exit7);

fn exit(_: NoArguments) -> Result<Outcome, Error> {
    std::process::exit(7);
}
