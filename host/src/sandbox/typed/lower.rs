//! From JSON to a value: strictly, with the place of what does not fit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use wasmtime::component::Val;

use super::shape::{Field, Integer, Shape};
use super::{INFINITE, MINUS_INFINITE, NOT_A_NUMBER};
use crate::failure::Failure;

/// A value takes some forty bytes for each part, whatever its type: a megabyte of bytes would become forty. This is what arguments
/// may grow to in the host. Test: `limits::typed::a_list_without_end_is_refused`.
const MOST_VALUES: usize = 1 << 20;

/// The arguments of a function, in the order of its parameters.
pub fn arguments(parameters: &[Field], given: &Map<String, Value>) -> Result<Vec<Val>, Failure> {
    let mut lowering = Lowering { path: Vec::new(), left: MOST_VALUES };
    lowering.fields(parameters, given).map(|fields| fields.into_iter().map(|(_, value)| value).collect())
}

/// One value. What [`super::lift`] makes of it is the same JSON again, in its plainest form.
#[cfg(test)]
pub fn value(shape: &Shape, given: &Value) -> Result<Val, Failure> {
    Lowering { path: Vec::new(), left: MOST_VALUES }.value(shape, given)
}

struct Lowering {
    path: Vec<String>,
    left: usize,
}

impl Lowering {
    fn value(&mut self, shape: &Shape, given: &Value) -> Result<Val, Failure> {
        self.take(1)?;
        Ok(match (shape, given) {
            (Shape::Bool, Value::Bool(value)) => Val::Bool(*value),
            (Shape::Integer(kind), Value::Number(number)) => self.integer(*kind, number)?,
            (Shape::Float32, _) => {
                let value = self.float(given)?;
                if value.is_finite() && value.abs() > f64::from(f32::MAX) {
                    return Err(self.wrong("a number that 32 bits can hold", given));
                }
                Val::Float32(value as f32)
            }
            (Shape::Float64, _) => Val::Float64(self.float(given)?),
            (Shape::Char, Value::String(text)) => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => Val::Char(only),
                    _ => return Err(self.wrong("one character", given)),
                }
            }
            (Shape::String, Value::String(text)) => Val::String(text.clone()),
            (Shape::Bytes, Value::String(text)) => {
                let bytes = STANDARD.decode(text).map_err(|_| self.wrong("bytes in base64", given))?;
                self.take(bytes.len())?;
                Val::List(bytes.into_iter().map(Val::U8).collect())
            }
            (Shape::Bytes, Value::Array(items)) => Val::List(self.items(&Shape::Integer(Integer::U8), items)?),
            (Shape::List(item), Value::Array(items)) => Val::List(self.items(item, items)?),
            (Shape::Array(item, length), Value::Array(items)) if items.len() == *length as usize => {
                Val::FixedLengthList(self.items(item, items)?)
            }
            (Shape::Record(fields), Value::Object(given)) => Val::Record(self.fields(fields, given)?),
            (Shape::Tuple(shapes), Value::Array(items)) if items.len() == shapes.len() => {
                let mut values = Vec::with_capacity(items.len());
                for (at, (shape, item)) in shapes.iter().zip(items).enumerate() {
                    values.push(self.within(at.to_string(), |inner| inner.value(shape, item))?);
                }
                Val::Tuple(values)
            }
            (Shape::Variant(cases), Value::Object(given)) => self.variant(cases, given)?,
            (Shape::Enum(names), Value::String(name)) if names.contains(name) => Val::Enum(name.clone()),
            (Shape::Flags(names), Value::Array(given)) => self.flags(names, given)?,
            (Shape::Option(_), Value::Null) => Val::Option(None),
            (Shape::Option(inner), Value::Object(given))
                if inner.is_optional() && given.len() == 1 && given.contains_key("some") =>
            {
                Val::Option(Some(self.within("some".into(), |lowering| lowering.value(inner, &given["some"]))?.into()))
            }
            (Shape::Option(inner), _) if !inner.is_optional() => Val::Option(Some(self.value(inner, given)?.into())),
            (Shape::Result(ok, err), Value::Object(given)) => self.result(ok.as_deref(), err.as_deref(), given)?,
            _ => return Err(self.wrong(expected(shape), given)),
        })
    }

    fn items(&mut self, shape: &Shape, items: &[Value]) -> Result<Vec<Val>, Failure> {
        let one = |(at, item): (usize, &Value)| self.within(at.to_string(), |inner| inner.value(shape, item));
        items.iter().enumerate().map(one).collect()
    }

    fn fields(&mut self, fields: &[Field], given: &Map<String, Value>) -> Result<Vec<(String, Val)>, Failure> {
        if let Some(extra) = given.keys().find(|name| !fields.iter().any(|field| field.name == **name)) {
            let extra: String = extra.chars().take(80).collect();
            return Err(self.failure(&format!("there is no field {extra:?}")));
        }
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            let value = match given.get(&field.name) {
                None if !field.shape.is_optional() => return Err(self.failure(&format!("`{}` is required", field.name))),
                None => Val::Option(None),
                Some(value) => self.within(field.name.clone(), |inner| inner.value(&field.shape, value))?,
            };
            values.push((field.name.clone(), value));
        }
        Ok(values)
    }

    fn variant(&mut self, cases: &[(String, Option<Shape>)], given: &Map<String, Value>) -> Result<Val, Failure> {
        let tag = given.get("tag").and_then(Value::as_str);
        let case = tag.and_then(|tag| cases.iter().find(|(name, _)| name == tag));
        let Some((name, shape)) = case else {
            let names: Vec<&str> = cases.iter().map(|(name, _)| name.as_str()).collect();
            return Err(self.failure(&format!("`tag` must be one of {}", names.join(", "))));
        };
        let payload = match (shape, given.get("val")) {
            (Some(shape), Some(value)) => Some(self.within("val".into(), |inner| inner.value(shape, value))?.into()),
            (Some(shape), None) if shape.is_optional() => Some(Val::Option(None).into()),
            (None, None) => None,
            (Some(_), None) => return Err(self.failure(&format!("the case {name} needs `val`"))),
            (None, Some(_)) => return Err(self.failure(&format!("the case {name} has no `val`"))),
        };
        match given.keys().find(|key| !matches!(key.as_str(), "tag" | "val")) {
            Some(_) => Err(self.failure("only `tag` and `val` can be there")),
            None => Ok(Val::Variant(name.clone(), payload)),
        }
    }

    fn result(&mut self, ok: Option<&Shape>, err: Option<&Shape>, given: &Map<String, Value>) -> Result<Val, Failure> {
        let mut side = |shape: Option<&Shape>, name: &str, value: &Value| match (shape, value) {
            (None, Value::Null) => Ok(None),
            (None, _) => Err(self.wrong("null", value)),
            (Some(shape), value) => self.within(name.into(), |inner| inner.value(shape, value)).map(|value| Some(value.into())),
        };
        match (given.len(), given.get("ok"), given.get("err")) {
            (1, Some(value), None) => Ok(Val::Result(Ok(side(ok, "ok", value)?))),
            (1, None, Some(value)) => Ok(Val::Result(Err(side(err, "err", value)?))),
            _ => Err(self.failure("must be {\"ok\": …} or {\"err\": …}")),
        }
    }

    fn flags(&self, names: &[String], given: &[Value]) -> Result<Val, Failure> {
        let mut set = Vec::new();
        for flag in given {
            match flag.as_str().filter(|flag| names.iter().any(|name| name == flag)) {
                Some(flag) if set.iter().any(|known| known == flag) => return Err(self.failure(&format!("{flag} is there twice"))),
                Some(flag) => set.push(flag.to_owned()),
                None => return Err(self.wrong(&format!("one of {}", names.join(", ")), flag)),
            }
        }
        Ok(Val::Flags(set))
    }

    /// `3.0` is an integer, as it is for JSON Schema; `3.5` and what is out of bounds are not.
    fn integer(&self, kind: Integer, number: &serde_json::Number) -> Result<Val, Failure> {
        let exact = number.as_i128().or_else(|| {
            let value = number.as_f64()?;
            (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i128)
        });
        let (least, most) = kind.bounds();
        let value = exact
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| self.failure(&format!("{number} is no whole number from {least} to {most}")))?;
        // Checked above, so that nothing is cut off here.
        Ok(match kind {
            Integer::S8 => Val::S8(value as i8),
            Integer::U8 => Val::U8(value as u8),
            Integer::S16 => Val::S16(value as i16),
            Integer::U16 => Val::U16(value as u16),
            Integer::S32 => Val::S32(value as i32),
            Integer::U32 => Val::U32(value as u32),
            Integer::S64 => Val::S64(value as i64),
            Integer::U64 => Val::U64(value as u64),
        })
    }

    fn float(&self, given: &Value) -> Result<f64, Failure> {
        match given {
            Value::Number(number) => number.as_f64(),
            Value::String(text) if text == NOT_A_NUMBER => Some(f64::NAN),
            Value::String(text) if text == INFINITE => Some(f64::INFINITY),
            Value::String(text) if text == MINUS_INFINITE => Some(f64::NEG_INFINITY),
            _ => None,
        }
        .ok_or_else(|| self.wrong("a number", given))
    }

    fn within<T>(&mut self, step: String, work: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        self.path.push(step);
        let done = work(self)?;
        self.path.pop();
        Ok(done)
    }

    fn take(&mut self, values: usize) -> Result<(), Failure> {
        match self.left.checked_sub(values) {
            Some(left) => self.left = left,
            None => {
                return Err(
                    Failure::limit(format!("The arguments have more than {MOST_VALUES} values.")).suggest("Send less at once.")
                );
            }
        }
        Ok(())
    }

    fn wrong(&self, expected: &str, given: &Value) -> Failure {
        let shown: String = given.to_string().chars().take(80).collect();
        self.failure(&format!("{shown} is not {expected}"))
    }

    fn failure(&self, why: &str) -> Failure {
        let place = if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path.join(".")) };
        Failure::invalid(format!("{place}{why}.")).suggest("See the tool's input schema.")
    }
}

fn expected(shape: &Shape) -> &'static str {
    match shape {
        Shape::Bool => "true or false",
        Shape::Integer(_) => "a whole number",
        Shape::Float32 | Shape::Float64 => "a number",
        Shape::Char => "one character",
        Shape::String => "a string",
        Shape::Bytes => "bytes in base64",
        Shape::List(_) => "an array",
        Shape::Array(..) | Shape::Tuple(_) => "an array of the right length",
        Shape::Record(_) => "an object",
        Shape::Variant(_) => "an object with `tag` and `val`",
        Shape::Enum(_) => "one of the names in the schema",
        Shape::Option(_) => "null or {\"some\": …}",
        Shape::Result(..) => "an object with `ok` or `err`",
        Shape::Flags(_) => "an array of names",
    }
}
