//! Reads standard input to its end: the client's messages, if it were the host's.

use std::io::Read;

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct ReadStdin;

impl Plugin for ReadStdin {
    fn about() -> About {
        About::new("read-stdin", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("read_stdin", "Reads standard input. Returns {bytes}.", read_stdin), zipfs_guests::harmless("read_stdin_ok")]
    }
}

zipfs_sdk::export!(ReadStdin);

fn read_stdin(_: NoArguments) -> Result<Outcome, Error> {
    let mut bytes = Vec::new();
    // A closed input is as good as an empty one; what matters is what came through.
    let _ = std::io::stdin().read_to_end(&mut bytes);
    Outcome::new().structured(&serde_json::json!({ "bytes": bytes.len() }))
}
