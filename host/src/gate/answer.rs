//! What a tool answered, checked before anybody sees it.

use std::sync::OnceLock;

use serde_json::Value;

use crate::config::CallLimits;
use crate::failure::Failure;
use crate::plugins::Found;
use crate::sandbox::bindings::tools::Reply;
use crate::sandbox::bindings::types::{Content, InputRequest, InputRequired, ResourceBody};
use crate::sandbox::run::{BREAKDOWN, too_large};

/// The end of a call, or a question in between.
pub enum Answer {
    Complete(Outcome),
    InputRequired(Question),
}

impl Answer {
    /// In one word, for the record.
    pub fn kind(&self) -> &'static str {
        match self {
            Answer::Complete(_) => "ok",
            Answer::InputRequired(_) => "input-required",
        }
    }
}

pub type Question = InputRequired;

/// A finished answer.
pub struct Outcome {
    pub content: Vec<Content>,
    pub structured: Option<Value>,
    /// What the host itself has to say, once: that an interrupted sync was put right.
    pub notice: Option<String>,
    json: OnceLock<String>,
}

impl Outcome {
    pub fn new(content: Vec<Content>, structured: Option<Value>) -> Outcome {
        Outcome { content, structured, notice: None, json: OnceLock::new() }
    }

    /// The structured result as text, keys in order. Made once: it may be large, and more than one want it.
    pub fn json(&self) -> Option<&String> {
        let made = |value: &Value| serde_json::to_string(value).unwrap_or_default();
        self.structured.as_ref().map(|value| self.json.get_or_init(|| made(value)))
    }

    /// The same, for whoever keeps it.
    pub fn take_json(&mut self) -> Option<String> {
        self.json()?;
        self.json.take()
    }
}

/// Adds what the host has to say to whatever came of the call. An agent hears it with the answer or the error, a person at the
/// command line in the log on standard error; each once, since it is only put right once.
pub fn told(answer: Result<Answer, Failure>, notice: Option<String>) -> Result<Answer, Failure> {
    let Some(notice) = notice else { return answer };
    tracing::warn!("{notice}");
    match answer {
        Ok(Answer::Complete(outcome)) => Ok(Answer::Complete(Outcome { notice: Some(notice), ..outcome })),
        Ok(question) => Ok(question),
        Err(failure) => Err(Failure { message: format!("{} (Before that: {notice})", failure.message), ..failure }),
    }
}

/// Refuses what is too large, is no JSON, or is not what the tool promised.
pub fn check(found: &Found, reply: Reply, limits: &CallLimits) -> Result<Answer, Failure> {
    let outcome = match reply {
        Reply::InputRequired(question) if weigh_question(&question) as u64 > limits.result_bytes => {
            return Err(too_large(limits.result_bytes as usize));
        }
        Reply::InputRequired(question) => return Ok(Answer::InputRequired(question)),
        Reply::Complete(outcome) => outcome,
    };
    let size = outcome.content.iter().map(weigh).sum::<usize>() + outcome.structured.as_ref().map_or(0, String::len);
    if size as u64 > limits.result_bytes {
        return Err(too_large(limits.result_bytes as usize));
    }
    let tool = found.tool();
    let broken = |why: &str| {
        let plugin = &found.plugin.description.name;
        Failure::internal(format!("The tool {} of the plugin `{plugin}` answered wrongly: {why}.", tool.name))
            .suggest("This is a fault of the plugin.")
            .details(serde_json::json!({"fault": BREAKDOWN}))
    };
    let structured = match outcome.structured {
        None if tool.output_schema.is_some() => return Err(broken("it promised a structured result and gave none")),
        None => None,
        Some(text) => match serde_json::from_str(&text) {
            Ok(value @ Value::Object(_)) => Some(value),
            Ok(_) => return Err(broken("its structured result is not an object")),
            Err(error) => return Err(broken(&format!("its structured result is not JSON ({error})"))),
        },
    };
    if limits.validate_results
        && let (Some(value), Some(validator)) = (&structured, found.plugin.output_validator(found.index))
        && let Err(error) = validator.validate(value)
    {
        return Err(broken(&format!("its result does not fit its output schema: {error} at `{}`", error.instance_path())));
    }
    Ok(Answer::Complete(Outcome::new(outcome.content, structured)))
}

fn weigh(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Image(blob) | Content::Audio(blob) => blob.data.len(),
        Content::Embedded(resource) => match &resource.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Bytes(bytes) => bytes.len(),
        },
        Content::Link(link) => {
            let optional = [&link.title, &link.description, &link.mime_type];
            link.uri.len() + link.name.len() + optional.into_iter().flatten().map(String::len).sum::<usize>()
        }
    }
}

fn weigh_question(question: &Question) -> usize {
    let request = |request: &InputRequest| match request {
        InputRequest::Elicit(form) => form.message.len() + form.schema.len(),
        InputRequest::Sample(params) => params.len(),
        InputRequest::Roots => 0,
    };
    let asked: usize = question.requests.iter().map(|(name, asked)| name.len() + request(asked)).sum();
    asked + question.state.as_ref().map_or(0, String::len)
}
