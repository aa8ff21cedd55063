//! Prints 64 MiB to standard error, which would fill a host that keeps it.

use std::io::Write;

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct FloodStderr;

impl Plugin for FloodStderr {
    fn about() -> About {
        About::new("flood-stderr", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("flood_stderr", "Prints 64 MiB of complaints.", flood), zipfs_guests::harmless("flood_stderr_ok")]
    }
}

zipfs_sdk::export!(FloodStderr);

fn flood(_: NoArguments) -> Result<Outcome, Error> {
    let line = [b'x'; 1 << 16];
    for _ in 0..1024 {
        // One that is refused does not keep a flooder from the next.
        let _ = std::io::stderr().write_all(&line);
    }
    Ok(Outcome::new().text("Printed."))
}
