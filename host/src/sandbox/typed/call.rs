//! One call of a typed function: arguments in, result out, both as JSON.

use serde_json::{Value, json};
use wasmtime::Store;
use wasmtime::component::Val;

use super::functions::Typed;
use super::lift;
use super::shape::Shape;
use crate::failure::Failure;
use crate::sandbox::bindings::tools::{Outcome, Reply};
use crate::sandbox::bindings::types::{Content, Error, ErrorClass};
use crate::sandbox::guest::Guest;

/// A call whose arguments are values already.
pub struct Prepared {
    at: usize,
    arguments: Vec<Val>,
}

impl Typed {
    /// Turns the arguments into values, before there is a guest.
    pub fn prepare(&self, tool: &str, arguments: &str) -> Result<Prepared, Failure> {
        let at = self.functions.iter().position(|function| function.tool_name() == tool);
        let at = at.ok_or_else(|| Failure::internal(format!("The component has no function for the tool {tool}.")))?;
        let given = match serde_json::from_str(arguments) {
            Ok(Value::Object(given)) => given,
            _ => return Err(Failure::invalid("The arguments are no JSON object.")),
        };
        Ok(Prepared { at, arguments: super::lower::arguments(&self.functions[at].parameters, &given)? })
    }

    pub async fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        self.instance.instantiate_async(store).await.map(drop)
    }

    /// Runs the function in a fresh instance.
    pub async fn call(&self, store: &mut Store<Guest>, prepared: Prepared) -> wasmtime::Result<Result<Reply, Error>> {
        let function = &self.functions[prepared.at];
        let instance = self.instance.instantiate_async(&mut *store).await?;
        store.data().call.timings.instantiated();
        let func = instance
            .get_func(&mut *store, function.export)
            .ok_or_else(|| wasmtime::format_err!("the function {} is not there", function.name))?;
        let mut results = vec![Val::Bool(false); usize::from(function.result.is_some())];
        func.call_async(&mut *store, &prepared.arguments, &mut results).await?;
        Ok(answer(&function.name, function.result.as_ref(), results.first()))
    }
}

/// What the tool answers: a record as it is, anything else as `result`; an error of the function is an error of the tool.
fn answer(function: &str, shape: Option<&Shape>, given: Option<&Val>) -> Result<Reply, Error> {
    let (shape, given) = match (shape, given) {
        (Some(Shape::Result(_, err)), Some(Val::Result(Err(given)))) => {
            return Err(error(function, err.as_deref(), given.as_deref()));
        }
        (Some(Shape::Result(ok, _)), Some(Val::Result(Ok(given)))) => (ok.as_deref(), given.as_deref()),
        other => other,
    };
    let (Some(shape), Some(given)) = (shape, given) else {
        return Ok(Reply::Complete(Outcome { content: vec![Content::Text("Done.".into())], structured: None }));
    };
    let value = lift::value(shape, given);
    let structured = if matches!(shape, Shape::Record(_)) { value } else { json!({"result": value}) };
    Ok(Reply::Complete(Outcome { content: Vec::new(), structured: Some(structured.to_string()) }))
}

/// The error of a function in the words of a tool. The name of a case is its code; everything is in the details.
fn error(function: &str, shape: Option<&Shape>, given: Option<&Val>) -> Error {
    let value = match (shape, given) {
        (Some(shape), Some(given)) => lift::value(shape, given),
        _ => Value::Null,
    };
    let case = match given {
        Some(Val::Enum(name) | Val::Variant(name, _)) => Some(name.as_str()),
        _ => None,
    };
    let said = match &value {
        Value::String(text) if case.is_none() => Some(text.as_str()),
        Value::Object(fields) => fields.get("message").or(fields.get("val")).and_then(Value::as_str),
        _ => None,
    };
    let message = match (said, case) {
        (Some(text), _) if !text.trim().is_empty() => text.to_owned(),
        (_, Some(case)) => format!("{function} failed: {case}."),
        _ => format!("{function} failed."),
    };
    Error {
        class: class_of(case.unwrap_or_default()),
        code: case.map_or("TOOL_FAILED".into(), |case| case.replace('-', "_").to_ascii_uppercase()),
        message,
        suggestion: None,
        details: (!value.is_null() && !value.is_string()).then(|| value.to_string()),
    }
}

/// Cases that are named as our classes are of that class; of others nothing is known.
fn class_of(case: &str) -> ErrorClass {
    match case {
        "invalid" | "invalid-argument" | "invalid-input" => ErrorClass::Invalid,
        "not-found" | "no-entry" => ErrorClass::NotFound,
        "forbidden" | "access" | "not-permitted" | "access-denied" => ErrorClass::Forbidden,
        "conflict" | "exist" | "already-exists" => ErrorClass::Conflict,
        "busy" | "would-block" => ErrorClass::Busy,
        "limit" | "too-large" | "quota" => ErrorClass::Limit,
        "timeout" | "timed-out" => ErrorClass::Timeout,
        _ => ErrorClass::Internal,
    }
}
