//! The JSON Schema of a type: what [`crate::sandbox::typed::lower`] takes, and what `lift` gives.

use serde_json::{Map, Value, json};

use crate::sandbox::typed::{Field, INFINITE, MINUS_INFINITE, NOT_A_NUMBER, Shape};

/// One type.
pub fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Integer(kind) => {
            let (least, most) = kind.bounds();
            // Sixty-four bits at most, so one of the two fits.
            let number = |value: i128| u64::try_from(value).map_or_else(|_| json!(value as i64), |value| json!(value));
            json!({"type": "integer", "minimum": number(least), "maximum": number(most)})
        }
        Shape::Float32 | Shape::Float64 => {
            json!({"anyOf": [{"type": "number"}, {"enum": [NOT_A_NUMBER, INFINITE, MINUS_INFINITE]}]})
        }
        Shape::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
        Shape::String => json!({"type": "string"}),
        Shape::Bytes => json!({
            "anyOf": [
                {"type": "string", "contentEncoding": "base64"},
                {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
            ],
            "description": "Bytes, in base64 or as an array of numbers.",
        }),
        Shape::List(item) => json!({"type": "array", "items": of(item)}),
        Shape::Array(item, length) => json!({"type": "array", "items": of(item), "minItems": length, "maxItems": length}),
        Shape::Record(fields) => of_fields(fields),
        Shape::Tuple(shapes) => {
            let items: Vec<Value> = shapes.iter().map(of).collect();
            json!({"type": "array", "prefixItems": items, "minItems": items.len(), "maxItems": items.len()})
        }
        Shape::Variant(cases) => {
            json!({"oneOf": cases.iter().map(|(name, payload)| case(name, payload.as_ref())).collect::<Vec<_>>()})
        }
        Shape::Enum(names) => json!({"type": "string", "enum": names}),
        Shape::Option(inner) if inner.is_optional() => {
            json!({"anyOf": [{"type": "null"}, one("some", Some(inner))]})
        }
        Shape::Option(inner) => nullable(of(inner)),
        Shape::Result(ok, err) => json!({"oneOf": [one("ok", ok.as_deref()), one("err", err.as_deref())]}),
        Shape::Flags(names) => json!({"type": "array", "items": {"type": "string", "enum": names}, "uniqueItems": true}),
    }
}

/// A record, or the parameters of a function.
pub fn of_fields(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.clone(), of(&field.shape))).collect();
    let required: Vec<&str> = fields.iter().filter(|field| !field.shape.is_optional()).map(|field| field.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn case(name: &str, payload: Option<&Shape>) -> Value {
    let mut properties = Map::from_iter([("tag".to_owned(), json!({"const": name}))]);
    let mut required = vec!["tag"];
    if let Some(shape) = payload {
        properties.insert("val".into(), of(shape));
        if !shape.is_optional() {
            required.push("val");
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn one(name: &str, shape: Option<&Shape>) -> Value {
    let inner = shape.map_or_else(|| json!({"type": "null"}), of);
    let properties = Map::from_iter([(name.to_owned(), inner)]);
    json!({"type": "object", "properties": properties, "required": [name], "additionalProperties": false})
}

/// Plain types say null beside their type, which every client understands.
fn nullable(mut schema: Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some(plain) if schema.get("enum").is_none() => {
            schema["type"] = json!([plain, "null"]);
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}
