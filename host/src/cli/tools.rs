//! `zipfs tools`: what can be called.

use serde_json::{Value, json};

use super::console::Console;
use super::output::{print, print_json};
use crate::failure::Failure;
use crate::gate::shown_schema;
use crate::plugins::{Found, WorkspaceAccess};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tool to describe.
    pub name: Option<String>,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let gate = console.gate().await?;
    let registry = gate.registry();
    let schema = |found: &Found| Value::Object(shown_schema(found.tool(), gate.is_bound(&found.plugin)));
    if let Some(name) = &args.name {
        let found = registry
            .find(name)
            .ok_or_else(|| Failure::invalid(format!("There is no tool {name:?}.")).suggest("See them all: zipfs tools"))?;
        return if console.json { print_json(&as_json(&found, schema(&found))) } else { print(&as_text(&found, schema(&found))) };
    }
    if console.json {
        return print_json(&Value::Array(registry.tools().map(|(_, found)| as_json(found, schema(found))).collect()));
    }
    let width = registry.tools().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, found): (&str, &Found)| {
        let first = found.tool().description.split(". ").next().unwrap_or_default().trim_end_matches('.');
        if console.quiet { format!("{name}\n") } else { format!("{name:width$}  {first}\n") }
    };
    print(&registry.tools().map(line).collect::<String>())
}
fn as_json(found: &Found, schema: Value) -> Value {
    let tool = found.tool();
    json!({
        "name": tool.name,
        "plugin": found.plugin.description.name,
        "title": tool.title,
        "description": tool.description,
        "access": tool.access,
        "inputSchema": schema,
        "outputSchema": tool.output_schema,
    })
}

fn as_text(found: &Found, schema: Value) -> String {
    let tool = found.tool();
    let access = match tool.access.workspace {
        WorkspaceAccess::None => "no workspace",
        WorkspaceAccess::Read => "workspace, read-only",
        WorkspaceAccess::Write => "workspace, read and write",
    };
    let capabilities: Vec<&str> = tool.access.capabilities.iter().map(|capability| capability.name()).collect();
    format!(
        "{} (plugin {})\n{}\n\nAccess: {access}{}{}\nArguments:\n{schema:#}\n",
        tool.name,
        found.plugin.description.name,
        tool.description,
        if capabilities.is_empty() { "" } else { ", " },
        capabilities.join(", "),
    )
}
