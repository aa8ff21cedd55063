//! Tools that ask the client something. Every entry is a fresh instance; only the state is remembered.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use zipfs_sdk::{Error, NoArguments, Questions, Reply, Resumption, client};

use crate::answers::{answer, field, model_text, said};
use crate::forms::{self, Choices, Colour, Confirmation, Contact, Defaults, Name};

#[derive(Deserialize, JsonSchema)]
pub struct Prompt {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct Message {
    message: String,
}

fn model(text: &str, most: u32) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": most})
}

pub fn sampling(arguments: Prompt, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "answer") {
        Some(answer) => Ok(said(format!("LLM response: {}", model_text(&answer))).into()),
        None => Ok(Questions::new().sample("answer", &model(&arguments.prompt, 100)).into()),
    }
}

pub fn elicitation(arguments: Message, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "contact") {
        Some(answer) => Ok(said(format!("User response: {}", forms::told(&answer))).into()),
        None => Ok(Questions::new().elicit::<Contact>("contact", arguments.message).into()),
    }
}

pub fn defaults(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "defaults") {
        Some(answer) => Ok(said(format!("Elicitation completed: {}", forms::told(&answer))).into()),
        None => Ok(Questions::new().elicit::<Defaults>("defaults", "Please review and update the form fields").into()),
    }
}

pub fn choices(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "choices") {
        Some(answer) => Ok(said(format!("Elicitation completed: {}", forms::told(&answer))).into()),
        None => Ok(Questions::new().elicit::<Choices>("choices", "Please select options from the enum fields").into()),
    }
}

pub fn needs_sampling(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "answer") {
        Some(answer) => Ok(said(model_text(&answer)).into()),
        None => Ok(Questions::new().sample("answer", &model("Say something.", 10)).into()),
    }
}

pub fn name(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match field(resumed.as_ref(), "user_name", "name") {
        Some(name) => Ok(said(format!("Hello, {name}!")).into()),
        None => Ok(Questions::new().elicit::<Name>("user_name", "What is your name?").into()),
    }
}

pub fn capital(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "capital_question") {
        Some(answer) => Ok(said(model_text(&answer)).into()),
        None => Ok(Questions::new().sample("capital_question", &model("What is the capital of France?", 100)).into()),
    }
}

pub fn roots(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    match answer(resumed.as_ref(), "client_roots") {
        Some(answer) => Ok(said(format!("Client roots: {}", answer["roots"])).into()),
        None => Ok(Questions::new().roots("client_roots").into()),
    }
}

pub fn with_state(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let remembered = resumed.as_ref().map(Resumption::state::<String>).transpose()?.flatten();
    match (answer(resumed.as_ref(), "confirm"), remembered.as_deref()) {
        (Some(_), Some("confirming")) => Ok(said("state-ok: confirmed").into()),
        _ => Ok(Questions::new().elicit::<Confirmation>("confirm", "Please confirm").remember(&"confirming")?.into()),
    }
}

pub fn several(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let resumed = resumed.as_ref();
    let answers = (field(resumed, "user_name", "name"), answer(resumed, "greeting"), answer(resumed, "client_roots"));
    let (Some(name), Some(greeting), Some(roots)) = answers else {
        let questions = Questions::new()
            .elicit::<Name>("user_name", "What is your name?")
            .sample("greeting", &model("Generate a greeting", 50))
            .roots("client_roots");
        return Ok(questions.remember(&"several")?.into());
    };
    Ok(said(format!("{} {name}, roots: {}", model_text(&greeting), roots["roots"])).into())
}

pub fn rounds(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let first = || Ok(Questions::new().elicit::<Name>("step1", "Step 1: What is your name?").remember(&Value::Null)?.into());
    let Some(resumed) = resumed else { return first() };
    match resumed.state::<Value>()? {
        Some(Value::String(name)) => match field(Some(&resumed), "step2", "color") {
            Some(colour) => Ok(said(format!("{name} likes {colour}.")).into()),
            None => second(&name),
        },
        _ => match field(Some(&resumed), "step1", "name") {
            Some(name) => second(&name),
            None => first(),
        },
    }
}

fn second(name: &str) -> Result<Reply, Error> {
    Ok(Questions::new().elicit::<Colour>("step2", "Step 2: What is your favorite color?").remember(&name)?.into())
}

/// Asks for nothing that the client cannot answer.
pub fn by_ability(_: NoArguments, resumed: Option<Resumption>) -> Result<Reply, Error> {
    if resumed.is_some() {
        return Ok(said("Thank you.").into());
    }
    let able = client::abilities();
    let mut questions = Questions::new();
    if able.elicitation {
        questions = questions.elicit::<Name>("user_name", "What is your name?");
    }
    if able.sampling {
        questions = questions.sample("greeting", &model("Generate a greeting", 50));
    }
    match questions.names().count() {
        0 => Ok(said("There is nobody to ask.").into()),
        _ => Ok(questions.into()),
    }
}
