//! From a value to JSON, in the form that [`super::lower`] reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value, json};
use wasmtime::component::Val;

use super::shape::Shape;
use super::{INFINITE, MINUS_INFINITE, NOT_A_NUMBER};

/// The JSON of a value. The value came from the component, so wasmtime made sure that it is of its type; how large it can be is
/// bounded by the fuel for host calls.
pub fn value(shape: &Shape, given: &Val) -> Value {
    match (shape, given) {
        (_, Val::Bool(value)) => json!(value),
        (_, Val::S8(value)) => json!(value),
        (_, Val::U8(value)) => json!(value),
        (_, Val::S16(value)) => json!(value),
        (_, Val::U16(value)) => json!(value),
        (_, Val::S32(value)) => json!(value),
        (_, Val::U32(value)) => json!(value),
        (_, Val::S64(value)) => json!(value),
        (_, Val::U64(value)) => json!(value),
        (_, Val::Float32(value)) => float(shortest(*value)),
        (_, Val::Float64(value)) => float(*value),
        (_, Val::Char(value)) => json!(value),
        (_, Val::String(value) | Val::Enum(value)) => json!(value),
        (Shape::Bytes, Val::List(items)) => {
            let byte = |item: &Val| if let Val::U8(byte) = item { *byte } else { 0 };
            json!(STANDARD.encode(items.iter().map(byte).collect::<Vec<u8>>()))
        }
        (Shape::List(item) | Shape::Array(item, _), Val::List(items) | Val::FixedLengthList(items)) => {
            items.iter().map(|given| value(item, given)).collect()
        }
        (Shape::Record(fields), Val::Record(given)) => {
            let field = |(field, (name, given)): (&super::Field, &(String, Val))| (name.clone(), value(&field.shape, given));
            Value::Object(fields.iter().zip(given).map(field).collect())
        }
        (Shape::Tuple(shapes), Val::Tuple(items)) => shapes.iter().zip(items).map(|(shape, given)| value(shape, given)).collect(),
        (Shape::Variant(cases), Val::Variant(name, payload)) => {
            let mut object = Map::from_iter([("tag".to_owned(), json!(name))]);
            let shape = cases.iter().find(|(known, _)| known == name).and_then(|(_, shape)| shape.as_ref());
            if let (Some(shape), Some(payload)) = (shape, payload) {
                object.insert("val".into(), value(shape, payload));
            }
            Value::Object(object)
        }
        (Shape::Option(_), Val::Option(None)) => Value::Null,
        // Without the wrapping, none and some(none) would be the same null.
        (Shape::Option(inner), Val::Option(Some(given))) if inner.is_optional() => json!({"some": value(inner, given)}),
        (Shape::Option(inner), Val::Option(Some(given))) => value(inner, given),
        (Shape::Result(ok, _), Val::Result(Ok(given))) => json!({"ok": side(ok.as_deref(), given.as_deref())}),
        (Shape::Result(_, err), Val::Result(Err(given))) => json!({"err": side(err.as_deref(), given.as_deref())}),
        (_, Val::Flags(names)) => json!(names),
        _ => Value::Null,
    }
}

fn side(shape: Option<&Shape>, given: Option<&Val>) -> Value {
    match (shape, given) {
        (Some(shape), Some(given)) => value(shape, given),
        _ => Value::Null,
    }
}

fn float(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => json!(NOT_A_NUMBER),
        None if value > 0.0 => json!(INFINITE),
        None => json!(MINUS_INFINITE),
    }
}

/// The fewest digits that mean this number: 0.1 and not 0.10000000149011612.
fn shortest(value: f32) -> f64 {
    let exact = f64::from(value);
    match value.to_string().parse::<f64>() {
        Ok(short) if value.is_finite() && short as f32 == value => short,
        _ => exact,
    }
}
