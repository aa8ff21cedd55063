//! Questions to the client, and their answers when the tool is entered again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::bindings::plugin::zipfs::plugin::types;
use crate::plugin::to_json;
use crate::{Error, schema};

/// What a tool wants to know before it can finish. Each question has a name; its answer comes back under the same name.
///
/// Ask [`client::abilities`](crate::client::abilities) first: a client that cannot answer is not asked.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    requests: Vec<(String, types::InputRequest)>,
    state: Option<String>,
}

impl Questions {
    /// No question yet.
    pub fn new() -> Questions {
        Questions::default()
    }

    /// Asks the person to fill in a form with the fields of `Form`, a flat struct. The message says why.
    pub fn elicit<Form: JsonSchema>(self, name: impl Into<String>, message: impl Into<String>) -> Questions {
        let schema = schema::of_arguments::<Form>().to_string();
        self.ask(name, types::InputRequest::Elicit(types::Elicitation { message: message.into(), schema }))
    }

    /// Asks the client's model: `parameters` are those of `sampling/createMessage`.
    pub fn sample(self, name: impl Into<String>, parameters: &Value) -> Questions {
        self.ask(name, types::InputRequest::Sample(parameters.to_string()))
    }

    /// Asks which directories the client works in.
    pub fn roots(self, name: impl Into<String>) -> Questions {
        self.ask(name, types::InputRequest::Roots)
    }

    /// Remembers a value until the answers come. Nothing else survives: the next entry is a fresh instance.
    pub fn remember(mut self, state: &impl Serialize) -> Result<Questions, Error> {
        self.state = Some(to_json(state)?);
        Ok(self)
    }

    /// The names of the questions, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(|(name, _)| name.as_str())
    }

    fn ask(mut self, name: impl Into<String>, request: types::InputRequest) -> Questions {
        self.requests.push((name.into(), request));
        self
    }
}

/// The answers, in the second and later entries into a call that asked.
#[derive(Clone, Debug)]
pub struct Resumption {
    answers: Vec<types::InputAnswer>,
    state: Option<String>,
}

/// What became of a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited<Form> {
    /// The person filled it in.
    Accepted(Form),
    /// The person said no.
    Declined,
    /// The person closed it without an answer.
    Cancelled,
}

impl Resumption {
    /// What became of the form asked under this name. `None` if it was not asked, or the host had no answer for it.
    pub fn elicited<Form: DeserializeOwned>(&self, name: &str) -> Result<Option<Elicited<Form>>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            action: String,
            content: Option<Value>,
        }
        let Some(answer) = self.answer::<Answer>(name)? else { return Ok(None) };
        Ok(Some(match answer.action.as_str() {
            "accept" => {
                Elicited::Accepted(serde_json::from_value(answer.content.unwrap_or(Value::Null)).map_err(|e| unfit(name, &e))?)
            }
            "decline" => Elicited::Declined,
            _ => Elicited::Cancelled,
        }))
    }

    /// The answer to the question of this name, as the client sent it: the result of sampling, the roots.
    pub fn answer<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let answer = self.answers.iter().find(|answer| answer.name == name);
        answer.map(|answer| serde_json::from_str(&answer.value).map_err(|e| unfit(name, &e))).transpose()
    }

    /// What [`Questions::remember`] kept.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let parse = |state: &String| serde_json::from_str(state);
        self.state.as_ref().map(parse).transpose().map_err(|e| unfit("state", &e))
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn new(questions: Option<&Questions>, answers: Vec<(String, Value)>) -> Resumption {
        Resumption {
            answers: answers.into_iter().map(|(name, value)| types::InputAnswer { name, value: value.to_string() }).collect(),
            state: questions.and_then(|questions| questions.state.clone()),
        }
    }
}

fn unfit(name: &str, error: &serde_json::Error) -> Error {
    Error::invalid("INVALID_ANSWER", format!("The client's answer to '{name}' does not fit the question: {error}."))
}

impl From<Questions> for types::InputRequired {
    fn from(questions: Questions) -> types::InputRequired {
        types::InputRequired { requests: questions.requests, state: questions.state }
    }
}

impl From<types::Resumption> for Resumption {
    fn from(resumed: types::Resumption) -> Resumption {
        Resumption { answers: resumed.answers, state: resumed.state }
    }
}
