//! Tools that cannot finish without the client. Every entry is a fresh instance; only the state is remembered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zipfs_sdk::{Elicited, Error, NoArguments, Outcome, Questions, Reply, Resumption};

#[derive(Deserialize, JsonSchema)]
struct Name {
    /// What you are called.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Colour {
    /// The one you like best.
    colour: String,
}

/// Asks for a name until there is one, unless the person does not want to say.
pub fn once(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let ask = || Ok(Questions::new().elicit::<Name>("name", "Who are you?").remember(&"s1")?.into());
    let Some(resumed) = resumed else { return ask() };
    if resumed.state::<String>()?.as_deref() != Some("s1") {
        return ask();
    }
    match resumed.elicited::<Name>("name") {
        Ok(Some(Elicited::Accepted(Name { name }))) if !name.is_empty() => {
            Ok(Outcome::new().text(format!("Hello, {name}!")).into())
        }
        Ok(Some(Elicited::Declined | Elicited::Cancelled)) => Ok(Outcome::new().text("Hello, whoever you are.").into()),
        _ => ask(),
    }
}

#[derive(Serialize, Deserialize)]
enum Round {
    Name,
    Colour { name: String },
}

/// Two rounds; the answer of the first is part of the state of the second.
pub fn twice(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let Some(resumed) = resumed else {
        return Ok(Questions::new().elicit::<Name>("name", "Who are you?").remember(&Round::Name)?.into());
    };
    match resumed.state()? {
        Some(Round::Name) => {
            let Some(Elicited::Accepted(Name { name })) = resumed.elicited("name")? else { return Err(no_answer("name")) };
            let message = format!("Which colour do you like best, {name}?");
            Ok(Questions::new().elicit::<Colour>("colour", message).remember(&Round::Colour { name })?.into())
        }
        Some(Round::Colour { name }) => {
            let Some(Elicited::Accepted(Colour { colour })) = resumed.elicited("colour")? else { return Err(no_answer("colour")) };
            Ok(Outcome::new().text(format!("{name} likes {colour}.")).into())
        }
        None => Err(no_answer("state")),
    }
}

pub fn sample(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let Some(resumed) = resumed else {
        let parameters =
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Say hello." } }], "maxTokens": 16 });
        return Ok(Questions::new().sample("answer", &parameters).into());
    };
    let answer: Value = resumed.answer("answer")?.ok_or_else(|| no_answer("answer"))?;
    // One block, or a list of them in newer revisions.
    let text = answer.pointer("/content/text").or_else(|| answer.pointer("/content/0/text")).and_then(Value::as_str);
    Ok(Outcome::new().text(format!("The model said: {}", text.ok_or_else(|| no_answer("answer"))?)).into())
}

#[derive(Deserialize)]
struct Roots {
    roots: Vec<Root>,
}

#[derive(Deserialize)]
struct Root {
    uri: String,
}

pub fn roots(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let Some(resumed) = resumed else { return Ok(Questions::new().roots("roots").into()) };
    let answer: Roots = resumed.answer("roots")?.ok_or_else(|| no_answer("roots"))?;
    let uris: Vec<String> = answer.roots.into_iter().map(|root| root.uri).collect();
    Ok(Outcome::new().text(format!("The client works in: {}", uris.join(", "))).into())
}

fn no_answer(name: &str) -> Error {
    Error::invalid("NO_ANSWER", format!("The question '{name}' was not answered."))
}
