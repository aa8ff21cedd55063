//! Waits for an hour in the host, where it uses no processor time that a limit could see.

use std::time::Duration;

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct Sleep;

impl Plugin for Sleep {
    fn about() -> About {
        About::new("sleep", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("sleep", "Sleeps for an hour.", sleep), zipfs_guests::harmless("sleep_ok")]
    }
}

zipfs_sdk::export!(Sleep);

fn sleep(_: NoArguments) -> Result<Outcome, Error> {
    std::thread::sleep(Duration::from_secs(3600));
    Ok(Outcome::new().text("Good morning."))
}
