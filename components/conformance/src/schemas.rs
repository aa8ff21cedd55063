//! Schemas that must come through word for word.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use zipfs_sdk::{Error, Outcome};

use crate::answers::said;

/// Whatever fits the schema below.
#[derive(Deserialize)]
pub struct AllOfIt(Value);

impl JsonSchema for AllOfIt {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AllOfIt".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {
                "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                },
            },
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })
    }
}

pub fn all_of_it(arguments: AllOfIt) -> Result<Outcome, Error> {
    Ok(said(format!("JSON Schema 2020-12 tool called with: {}", arguments.0)))
}

#[derive(Deserialize, JsonSchema)]
pub struct Header {
    /// Sent as the header `Mcp-Param-Value` too.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

pub fn header(arguments: Header) -> Result<Outcome, Error> {
    Ok(said(format!("Value: {}", arguments.value)))
}
