//! Answers of one line, and reading what came back to a question.

use serde_json::Value;
use zipfs_sdk::{Outcome, Resumption};

pub fn said(text: impl Into<String>) -> Outcome {
    Outcome::new().text(text)
}

/// What came back under this name, if it is an object, as every answer is.
pub fn answer(resumed: Option<&Resumption>, name: &str) -> Option<Value> {
    resumed?.answer::<Value>(name).ok()?.filter(Value::is_object)
}

/// One field of a form that was accepted.
pub fn field(resumed: Option<&Resumption>, form: &str, field: &str) -> Option<String> {
    let answer = answer(resumed, form)?;
    let accepted = answer["action"] == "accept";
    answer["content"][field].as_str().filter(|_| accepted).map(str::to_owned)
}

/// The text of what a model said: one block, or a list of them in newer revisions.
pub fn model_text(answer: &Value) -> String {
    let text = answer.pointer("/content/text").or_else(|| answer.pointer("/content/0/text"));
    text.and_then(Value::as_str).unwrap_or_default().to_owned()
}
