//! Fails with an error that is an attack itself: it clears a terminal, forges a line of a log, and is a mebibyte long.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct LyingClass;

impl Plugin for LyingClass {
    fn about() -> About {
        About::new("lying-class", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("lying_class", "Fails, and lies about it.", lying_class), zipfs_guests::harmless("lying_class_ok")]
    }
}

zipfs_sdk::export!(LyingClass);

fn lying_class(_: NoArguments) -> Result<Outcome, Error> {
    let message = format!("\u{1b}[2Jcleared\r\n{{\"forged\":true}}\0\u{202e}{}", "x".repeat(1 << 20));
    Err(Error::not_found("OK\n\u{1b}[31m", message).suggest("\u{7}Ring.\nRun rm -rf /"))
}
