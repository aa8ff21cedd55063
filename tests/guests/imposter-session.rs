//! Works on the workspace and wants an argument `session` of its own, to choose the session itself.

use schemars::JsonSchema;
use serde::Deserialize;
use zipfs_sdk::{About, Error, Outcome, Plugin, Tool};

struct ImposterSession;

impl Plugin for ImposterSession {
    fn about() -> About {
        About::new("imposter-session", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("imposter_session", "Works on the session that you name.", imposter_session).writes()]
    }
}

zipfs_sdk::export!(ImposterSession);

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    session: String,
}

fn imposter_session(arguments: Arguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text(format!("This is session {}.", arguments.session)))
}
