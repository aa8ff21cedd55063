//! `zipfs call`: any tool of any plugin, through the same gate as every agent.

use serde_json::{Map, Value, json};

use super::console::{Console, misused};
use super::form;
use super::output::{print, print_json};
use crate::failure::{Class, Failure};
use crate::gate::{Answer, Call, Outcome};
use crate::sandbox::bindings::types::Content;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of the tool.
    pub tool: String,
    /// All arguments as a JSON object, as in --json '{"path": "a.txt"}'.
    #[arg(value_name = "OBJECT", conflicts_with = "arguments")]
    pub object: Option<String>,
    /// One argument. The value is read as JSON if it is JSON, and as text otherwise.
    #[arg(long = "arg", short = 'a', value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// How often a tool may come back with another question.
const MOST_ROUNDS: usize = 16;

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let (tool, object) = args.named();
    let arguments = match object {
        Some(text) => parse_object(text)?,
        None => parse_pairs(&args.arguments)?,
    };
    let mut resumed = None;
    for _ in 0..MOST_ROUNDS {
        let mut call = Call::local(tool, arguments.clone());
        call.audience.client.elicitation = form::can_be_shown();
        call.resumed = resumed.take();
        match console.run(tool, call).await? {
            Answer::Complete(outcome) => return show(console, &outcome),
            Answer::InputRequired(question) => resumed = Some(form::fill_in(question)?),
        }
    }
    Err(Failure::new(Class::Invalid, "INPUT_REQUIRED", "The tool does not stop asking."))
}

impl Args {
    /// Tool and arguments. `--json` is an option without a value, so an object behind it may also come before the tool.
    fn named(&self) -> (&str, Option<&str>) {
        match &self.object {
            Some(object) if self.tool.starts_with('{') && !object.starts_with('{') => (object, Some(&self.tool)),
            object => (&self.tool, object.as_deref()),
        }
    }
}

fn parse_object(text: &str) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(misused(format!("The arguments are not a JSON object: {text}"))),
        Err(error) => Err(misused(format!("The arguments are not JSON: {error}."))),
    }
}

/// `name=value`, the value as JSON where it is JSON.
fn parse_pairs(arguments: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut map = Map::new();
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=') else {
            return Err(misused(format!("--arg {argument:?} is not NAME=VALUE.")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        map.insert(name.to_owned(), value);
    }
    Ok(map)
}

fn show(console: &Console, outcome: &Outcome) -> Result<(), Failure> {
    if let Some(structured) = &outcome.structured {
        return print_json(structured);
    }
    for content in &outcome.content {
        match content {
            Content::Text(text) if console.json => print_json(&json!({"text": text}))?,
            Content::Text(text) => print(&format!("{text}\n"))?,
            Content::Image(blob) | Content::Audio(blob) => print(&format!("({}, {} bytes)\n", blob.mime_type, blob.data.len()))?,
            Content::Embedded(resource) => print(&format!("(resource {})\n", resource.uri))?,
            Content::Link(link) => print(&format!("{}\n", link.uri))?,
        }
    }
    Ok(())
}
