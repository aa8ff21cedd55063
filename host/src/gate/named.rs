//! The paths that arguments name: those that the tool's schema marks with `x-zipfs-path`.
//!
//! Containment does not depend on it; what a call is said to touch, and what a principal's scopes let it name, does.

use serde_json::{Map, Value};

/// A schema nests no deeper than this for us. One that refers to itself ends here.
const DEEPEST: usize = 16;

/// The paths, in the order of the schema.
pub fn paths(schema: &Map<String, Value>, arguments: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let root = schema;
        for (name, schema) in properties {
            if let (Some(schema), Some(value)) = (schema.as_object(), arguments.get(name)) {
                look(root, schema, value, 0, &mut found);
            }
        }
    }
    found
}

fn look(root: &Map<String, Value>, schema: &Map<String, Value>, value: &Value, depth: usize, found: &mut Vec<String>) {
    if depth > DEEPEST {
        return;
    }
    if schema.get("x-zipfs-path").is_some_and(|mark| *mark != Value::Bool(false)) {
        let mut texts = |value: &Value| {
            if let Value::String(path) = value {
                found.push(path.clone());
            }
        };
        match value {
            Value::Array(items) => items.iter().for_each(texts),
            other => texts(other),
        }
        return;
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|to| referred(root, to)) {
        look(root, target, value, depth + 1, found);
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        for schema in schema.get(choice).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object) {
            look(root, schema, value, depth + 1, found);
        }
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items").and_then(Value::as_object) {
                items.iter().for_each(|item| look(root, schema, item, depth + 1, found));
            }
        }
        Value::Object(members) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let others = schema.get("additionalProperties").and_then(Value::as_object);
            for (name, value) in members {
                let own = properties.and_then(|properties| properties.get(name)).and_then(Value::as_object);
                if let Some(schema) = own.or(others) {
                    look(root, schema, value, depth + 1, found);
                }
            }
        }
        _ => {}
    }
}

/// The part of the schema that a local reference leads to.
pub(super) fn referred<'a>(root: &'a Map<String, Value>, to: &str) -> Option<&'a Map<String, Value>> {
    let mut steps = to.strip_prefix("#/")?.split('/');
    let mut at = root.get(steps.next()?)?;
    for step in steps {
        at = at.get(step.replace("~1", "/").replace("~0", "~"))?;
    }
    at.as_object()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn marked_arguments_are_found_however_deep() {
        let schema = json!({
            "properties": {
                "path": {"type": "string", "x-zipfs-path": true},
                "text": {"type": "string"},
                "many": {"type": "array", "items": {"$ref": "#/$defs/Path"}},
                "edit": {"anyOf": [{"type": "null"}, {"properties": {"to": {"x-zipfs-path": true}, "from": {"x-zipfs-path": false}}}]},
                "loop": {"$ref": "#/$defs/Loop"},
            },
            "$defs": {"Path": {"type": "string", "x-zipfs-path": true}, "Loop": {"$ref": "#/$defs/Loop"}},
        });
        let arguments = json!({"path": "a", "text": "b", "many": ["c", "d", 5], "edit": {"to": "e", "from": "f"}, "loop": "g"});
        let found = paths(schema.as_object().unwrap(), arguments.as_object().unwrap());
        assert_eq!(found, ["e", "c", "d", "a"].map(String::from));
    }
}
