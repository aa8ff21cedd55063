//! From the text of the arguments to the type a handler takes. Says which argument is wrong, and why.

use serde::de::DeserializeOwned;

use crate::Error;

/// Arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, schemars::JsonSchema)]
#[schemars(crate = "schemars")]
pub struct NoArguments {}

/// Parses arguments. An error has class invalid and the given code.
///
/// The host has checked the arguments against the schema, so this only fails where the type is stricter than its schema.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, code: &'static str) -> Result<T, Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let argument = error.path().to_string();
        let what = without_position(&error.into_inner().to_string());
        // At the top level the path is a dot, and serde names the field itself: "missing field `path`".
        if argument == "." {
            return Error::invalid(code, format!("Invalid arguments: {what}."));
        }
        Error::invalid(code, format!("Invalid argument '{argument}': {what}.")).details(serde_json::json!({ "argument": argument }))
    })
}

/// Cuts off serde_json's "at line 1 column 9": the agent sent an object, not lines.
fn without_position(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(what, _)| what).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;

    #[derive(Debug, serde::Deserialize)]
    struct Args {
        #[allow(dead_code)]
        path: String,
        #[serde(default)]
        #[allow(dead_code)]
        lines: Vec<u32>,
    }

    #[test]
    fn the_error_names_the_argument_and_what_was_expected() {
        let table = [
            (r#"{}"#, "missing field `path`"),
            (r#"{"path":5}"#, "'path': invalid type: integer `5`, expected a string"),
            (r#"{"path":"a","lines":[1,-2]}"#, "'lines[1]': invalid value: integer `-2`, expected u32"),
        ];
        for (text, expected) in table {
            let error = parse::<Args>(text, "BAD").unwrap_err();
            assert!(error.message().contains(expected), "{text}: {}", error.message());
            assert!(!error.message().contains("column"), "{}", error.message());
            assert_eq!((error.class(), error.code()), (Class::Invalid, "BAD"));
        }
    }
}
