//! JSON Schemas from Rust types: 2020-12, in one piece, without the noise that only costs the agent's attention.

use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::Value;

/// The schema of what a handler takes. Called by `describe` only: generating schemas has no place in a call.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a handler returns.
pub(crate) fn of_result<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(drop_number_format)));
    let mut schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    // The root's title and description are the Rust type's name and doc comment; the tool has a title and description itself.
    schema.remove("title");
    schema.remove("description");
    if schema.get("type").and_then(Value::as_str) == Some("object") && schema.get("properties").is_none() {
        // An object without properties: several clients reject a schema that lacks the key.
        schema.insert("properties".to_owned(), Value::Object(Default::default()));
    }
    schema.to_value()
}

/// Drops `"format": "uint64"` and its like: the name of a Rust type, which JSON Schema does not know and validators warn about.
fn drop_number_format(schema: &mut Schema) {
    let is_rust_type = |format: &str| format.trim_start_matches('u').starts_with("int") || matches!(format, "float" | "double");
    if schema.get("format").and_then(Value::as_str).is_some_and(is_rust_type) {
        schema.remove("format");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A doc comment that agents need not read.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        /// The file.
        #[schemars(extend("x-zipfs-path" = true))]
        path: String,
        /// How much.
        #[serde(default)]
        inner: Inner,
    }

    #[derive(Default, JsonSchema, serde::Serialize, serde::Deserialize)]
    struct Inner {
        limit: Option<u64>,
    }

    #[test]
    fn schemas_are_inline_and_quiet() {
        let schema = of_arguments::<Args>();
        assert_eq!(schema["properties"]["path"], json!({"type": "string", "description": "The file.", "x-zipfs-path": true}));
        assert_eq!(schema["properties"]["inner"]["type"], "object");
        assert_eq!(schema["properties"]["inner"]["properties"]["limit"], json!({"type": ["integer", "null"], "minimum": 0}));
        assert_eq!(schema["required"], json!(["path"]));
        for noise in ["$schema", "title", "description", "$defs"] {
            assert!(schema.get(noise).is_none(), "{noise}");
        }
    }

    #[test]
    fn no_arguments_is_an_empty_object() {
        assert_eq!(of_arguments::<crate::NoArguments>(), json!({"type": "object", "properties": {}}));
    }
}
