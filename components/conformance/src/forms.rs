//! The forms that the suite wants to see, word for word.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// A form whose schema is given.
macro_rules! form {
    ($name:ident, $schema:tt) => {
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

form!(Name, {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
form!(Colour, {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]});
form!(Confirmation, {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
form!(Context, {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]});
form!(Confirm, {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]});
form!(Contact, {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
});
form!(Defaults, {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    },
});
form!(Choices, {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": [
            {"const": "value1", "title": "First Option"},
            {"const": "value2", "title": "Second Option"},
            {"const": "value3", "title": "Third Option"},
        ]},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [
            {"const": "value1", "title": "First Choice"},
            {"const": "value2", "title": "Second Choice"},
            {"const": "value3", "title": "Third Choice"},
        ]}},
    },
});

/// What became of a form, in the words of the suite.
pub fn told(answer: &Value) -> String {
    format!("action={}, content={}", answer["action"].as_str().unwrap_or_default(), answer["content"])
}
