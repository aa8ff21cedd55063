//! Gives a structured result that is JSON but no object.

use zipfs_sdk::{About, Error, NoArguments, Outcome, Plugin, Tool};

struct NotObject;

impl Plugin for NotObject {
    fn about() -> About {
        About::new("not-object", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![Tool::new("not_object", "Answers with a list.", not_object), zipfs_guests::harmless("not_object_ok")]
    }
}

zipfs_sdk::export!(NotObject);

fn not_object(_: NoArguments) -> Result<Outcome, Error> {
    Outcome::new().structured(&[1])
}
