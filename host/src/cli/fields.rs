//! Reading a tool's structured result: what is absent reads as empty, since a result was checked before it came here.

use serde_json::Value;

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

pub fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_default()
}

pub fn truth(value: &Value, key: &str) -> bool {
    value[key].as_bool().unwrap_or_default()
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

pub fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    list(value, key).iter().filter_map(Value::as_str)
}

/// `1 file`, `2 files`.
pub fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
