//! Arguments: the `session` that the host adds and takes away again, and validation against the tool's schema.

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::plugins::{Found, Tool, WorkspaceAccess};

/// The schema that clients see: the plugin's own, with `session` where the tool works on one. One whose plugin is bound to a
/// directory does not.
pub fn shown_schema(tool: &Tool, is_bound: bool) -> Map<String, Value> {
    let mut schema = tool.input_schema.clone();
    if tool.access.workspace != WorkspaceAccess::None && !is_bound {
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(
                "session".into(),
                json!({
                    "type": "string",
                    "description": "Session name, id, or the first four or more characters of an id. May be left out while one session is open.",
                }),
            );
        }
    }
    schema
}

/// Checks the arguments. Returns them as the guest will see them, and the session that was asked for.
pub fn check(found: &Found, is_bound: bool, mut arguments: Map<String, Value>) -> Result<(String, Option<String>), Failure> {
    let mut session = None;
    if found.tool().access.workspace != WorkspaceAccess::None && !is_bound {
        session = match arguments.remove("session") {
            None | Some(Value::Null) => None,
            Some(Value::String(wanted)) => Some(wanted),
            Some(other) => return Err(Failure::invalid(format!("`session` must be a string, not {}.", kind(&other)))),
        };
    }
    let arguments = Value::Object(arguments);
    let validator = found.plugin.input_validator(found.index);
    if !validator.is_valid(&arguments) {
        let wrong: Vec<String> = validator.iter_errors(&arguments).take(3).map(|error| describe(&error)).collect();
        return Err(Failure::invalid(format!("{}.", wrong.join("; "))).suggest("See the tool's input schema."));
    }
    Ok((arguments.to_string(), session))
}

/// Which argument, and what was expected.
fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let argument = at.trim_start_matches('/').replace('/', ".");
    let named = |text: String| if argument.is_empty() { text } else { format!("`{argument}`: {text}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let missing = property.as_str().unwrap_or_default();
            let full = if argument.is_empty() { missing.to_owned() } else { format!("{argument}.{missing}") };
            format!("`{full}` is required")
        }
        ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            named(format!("`{}` is not an argument of this tool", unexpected.join("`, `")))
        }
        ValidationErrorKind::Type { .. } => {
            let got = kind(error.instance());
            named(format!("{} (got {got})", shorten(&error.to_string())))
        }
        _ => named(shorten(&error.to_string())),
    }
}

/// Messages quote the value, which may be a whole file.
fn shorten(text: &str) -> String {
    if text.chars().count() <= 200 {
        return text.to_owned();
    }
    let (start, end): (String, String) = (text.chars().take(80).collect(), {
        let tail: Vec<char> = text.chars().rev().take(100).collect();
        tail.into_iter().rev().collect()
    });
    format!("{start} … {end}")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
