//! Uses the capability `sessions` in a tool that does not declare it, though the plugin has it for another.

use zipfs_guests::{Attempts, harmless};
use zipfs_sdk::{About, Error, NoArguments, Plugin, Tool, sessions};

struct UndeclaredSessions;

impl Plugin for UndeclaredSessions {
    fn about() -> About {
        About::new("undeclared-sessions", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        let crime = Tool::new("undeclared_sessions", "Opens archives without asking. Returns {attempts}.", undeclared);
        // One of them, honestly: it shows that the refusals are for want of a declaration and nothing else.
        let honest = Tool::new("declared_sessions", "Lists sessions. Returns {attempts}.", declared).uses("sessions");
        vec![crime, honest, harmless("undeclared_sessions_ok")]
    }
}

zipfs_sdk::export!(UndeclaredSessions);

fn undeclared(_: NoArguments) -> Result<Attempts, Error> {
    let mut attempts = Attempts::default();
    attempts.note("sessions.list", sessions::list());
    attempts.note("sessions.open", sessions::open("/tmp/somebody-elses.zip", None));
    attempts.note("sessions.path", sessions::path());
    attempts.note("sessions.status", sessions::status());
    attempts.note("sessions.sync", sessions::sync(true, false));
    attempts.note("sessions.close", sessions::close(Some(false)));
    Ok(attempts)
}

fn declared(_: NoArguments) -> Result<Attempts, Error> {
    let mut attempts = Attempts::default();
    attempts.note("sessions.list", sessions::list());
    Ok(attempts)
}
