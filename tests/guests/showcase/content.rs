//! Every kind of block that an answer can have, a structured result, and an error.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use zipfs_sdk::{Error, NoArguments, Outcome, ResourceBody, ResourceContents, ResourceLink};

const DOT: &[u8] = include_bytes!("dot.png");
const SILENCE: &[u8] = include_bytes!("silence.wav");

pub fn text(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text("Just text."))
}

pub fn dotted(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text("Dotted."))
}

pub fn image(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().image(DOT.to_vec(), "image/png"))
}

pub fn audio(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().audio(SILENCE.to_vec(), "audio/wav"))
}

pub fn embedded(_: NoArguments) -> Result<Outcome, Error> {
    let contents = |uri: &str, mime_type: &str, body| ResourceContents { uri: uri.into(), mime_type: Some(mime_type.into()), body };
    let text = contents("show://static", "text/plain", ResourceBody::Text("Carried along.".into()));
    let bytes = contents("show://binary", "application/octet-stream", ResourceBody::Bytes(vec![0, 1, 254, 255]));
    Ok(Outcome::new().embedded(text).embedded(bytes))
}

pub fn link(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().link(static_link()))
}

pub fn mixed(_: NoArguments) -> Result<Outcome, Error> {
    Ok(Outcome::new().text("First text,").image(DOT.to_vec(), "image/png").link(static_link()).text("then text."))
}

#[derive(Serialize, JsonSchema)]
pub struct Structured {
    name: String,
    numbers: Vec<u32>,
}

pub fn structured(_: NoArguments) -> Result<Structured, Error> {
    Ok(Structured { name: "Grüße".into(), numbers: vec![1, 2, 3] })
}

pub fn error(_: NoArguments) -> Result<Outcome, Error> {
    Err(Error::conflict("SHOW_CONFLICT", "Somebody else was first.")
        .suggest("Look again, then retry.")
        .details(json!({ "first": "Ada" })))
}

fn static_link() -> ResourceLink {
    ResourceLink {
        uri: "show://static".into(),
        name: "static".into(),
        title: Some("Static".into()),
        description: Some("A resource that never changes.".into()),
        mime_type: Some("text/plain".into()),
        size: Some(super::resources::STATIC.len() as u64),
    }
}
