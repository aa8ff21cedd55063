//! Which functions can stand behind a tool, and what they may return.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::plugin::to_json;
use crate::{Error, Outcome, Reply, Resumption, schema};

/// A function behind a tool: `fn(Arguments) -> Result<Answer, Error>`, with `Option<Resumption>` as a second parameter if it
/// asks the client questions.
///
/// `Shape` tells the two apart; it is always inferred.
pub trait Handler<Shape> {
    /// What the function takes.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What it returns.
    type Answer: Answer;

    /// Runs it.
    fn run(&self, arguments: Self::Arguments, resumed: Option<Resumption>) -> Result<Self::Answer, Error>;
}

impl<F, Arguments, Given> Handler<(Arguments,)> for F
where
    F: Fn(Arguments) -> Result<Given, Error>,
    Arguments: DeserializeOwned + JsonSchema,
    Given: Answer,
{
    type Arguments = Arguments;
    type Answer = Given;

    fn run(&self, arguments: Arguments, _: Option<Resumption>) -> Result<Given, Error> {
        self(arguments)
    }
}

impl<F, Arguments, Given> Handler<(Arguments, Resumption)> for F
where
    F: Fn(Arguments, Option<Resumption>) -> Result<Given, Error>,
    Arguments: DeserializeOwned + JsonSchema,
    Given: Answer,
{
    type Arguments = Arguments;
    type Answer = Given;

    fn run(&self, arguments: Arguments, resumed: Option<Resumption>) -> Result<Given, Error> {
        self(arguments, resumed)
    }
}

/// What a handler may return: any struct with `Serialize` and `JsonSchema`, or [`Outcome`], or [`Reply`].
pub trait Answer {
    /// How to make the schema of the structured result, where the type tells.
    const OUTPUT_SCHEMA: Option<fn() -> Value>;

    /// As a reply.
    fn into_reply(self) -> Result<Reply, Error>;
}

impl<T: Serialize + JsonSchema> Answer for T {
    const OUTPUT_SCHEMA: Option<fn() -> Value> = Some(schema::of_result::<T>);

    fn into_reply(self) -> Result<Reply, Error> {
        Ok(Reply::Complete(Outcome::from_json(to_json(&self)?)))
    }
}

impl Answer for Outcome {
    const OUTPUT_SCHEMA: Option<fn() -> Value> = None;

    fn into_reply(self) -> Result<Reply, Error> {
        Ok(Reply::Complete(self))
    }
}

impl Answer for Reply {
    const OUTPUT_SCHEMA: Option<fn() -> Value> = None;

    fn into_reply(self) -> Result<Reply, Error> {
        Ok(self)
    }
}
