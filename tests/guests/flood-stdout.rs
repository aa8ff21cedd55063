//! Prints 64 MiB to standard output, which would fill a host that keeps it.

use std::io::Write;

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct FloodStdout;

impl Plugin for FloodStdout {
    fn about() -> About {
        About::new("flood-stdout", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("flood_stdout", "Prints 64 MiB.", flood), zipfs_guests::harmless("flood_stdout_ok")]
    }
}

zipfs_sdk::export!(FloodStdout);

fn flood(_: NoArguments) -> Result<Outcome, Error> {
    let line = [b'x'; 1 << 16];
    for _ in 0..1024 {
        // One that is refused does not keep a flooder from the next.
        let _ = std::io::stdout().write_all(&line);
    }
    Ok(Outcome::new().text("Printed."))
}
