//! `zipfs call` and `zipfs tools`: any tool of any plugin, through the same gate as every agent.

use serde_json::{Map, Value, json};

use super::args::CallArgs;
use super::output::{print, print_json};
use crate::config::Config;
use crate::failure::{Class, Failure};
use crate::gate::{Answer, Call, Gate, shown_schema};
use crate::plugins::{Found, WorkspaceAccess};
use crate::sandbox::Shape;
use crate::sandbox::bindings::types::Content;

pub async fn run(config: Config, args: &CallArgs, json: bool) -> Result<(), Failure> {
    let arguments = match &args.object {
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map,
            _ => return Err(Failure::invalid("--args is not a JSON object.")),
        },
        None => parse(&args.arguments)?,
    };
    let gate = Gate::open(config, Shape::Command).await?;
    let answer = gate.call(Call::local(&args.tool, arguments)).await.map_err(|refusal| refusal.into_failure())?;
    let outcome = match answer {
        Answer::Complete(outcome) => outcome,
        Answer::InputRequired(_) => {
            return Err(Failure::new(
                Class::Invalid,
                "INPUT_REQUIRED",
                "The tool asks for input, which the command line cannot give.",
            ));
        }
    };
    if let Some(structured) = &outcome.structured {
        return print_json(structured);
    }
    for content in &outcome.content {
        match content {
            Content::Text(text) if json => print_json(&json!({"text": text}))?,
            Content::Text(text) => print(&format!("{text}\n"))?,
            Content::Image(blob) | Content::Audio(blob) => print(&format!("({}, {} bytes)\n", blob.mime_type, blob.data.len()))?,
            Content::Embedded(resource) => print(&format!("(resource {})\n", resource.uri))?,
            Content::Link(link) => print(&format!("{}\n", link.uri))?,
        }
    }
    Ok(())
}

/// `name=value`, the value as JSON where it is JSON.
fn parse(arguments: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut map = Map::new();
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=') else {
            return Err(Failure::invalid(format!("--arg {argument:?} is not NAME=VALUE.")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        map.insert(name.to_owned(), value);
    }
    Ok(map)
}

pub async fn describe(config: Config, name: Option<&str>, json: bool) -> Result<(), Failure> {
    let gate = Gate::open(config, Shape::Command).await?;
    let registry = gate.registry();
    if let Some(name) = name {
        let found = registry
            .find(name)
            .ok_or_else(|| Failure::invalid(format!("There is no tool {name:?}.")).suggest("See them all: zipfs tools"))?;
        return if json { print_json(&as_json(&found)) } else { print(&as_text(&found)) };
    }
    if json {
        return print_json(&Value::Array(registry.tools().map(|(_, found)| as_json(found)).collect()));
    }
    let width = registry.tools().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, found) in registry.tools() {
        let first = found.tool().description.split(". ").next().unwrap_or_default().trim_end_matches('.');
        print(&format!("{name:width$}  {first}\n"))?;
    }
    Ok(())
}

fn as_json(found: &Found) -> Value {
    let tool = found.tool();
    json!({
        "name": tool.name,
        "plugin": found.plugin.description.name,
        "title": tool.title,
        "description": tool.description,
        "access": tool.access,
        "inputSchema": shown_schema(tool),
        "outputSchema": tool.output_schema,
    })
}

fn as_text(found: &Found) -> String {
    let tool = found.tool();
    let access = match tool.access.workspace {
        WorkspaceAccess::None => "no workspace",
        WorkspaceAccess::Read => "workspace, read-only",
        WorkspaceAccess::Write => "workspace, read and write",
    };
    let capabilities: Vec<&str> = tool.access.capabilities.iter().map(|capability| capability.name()).collect();
    let schema = Value::Object(shown_schema(tool));
    format!(
        "{} (plugin {})\n{}\n\nAccess: {access}{}{}\nArguments:\n{schema:#}\n",
        tool.name,
        found.plugin.description.name,
        tool.description,
        if capabilities.is_empty() { "" } else { ", " },
        capabilities.join(", "),
    )
}
