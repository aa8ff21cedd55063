//! Asking a component to describe itself, with no capability at all, and checking what it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::description::{Access, Description, Icon, Role, Tool, WorkspaceAccess};
use super::manifest::{Manifest, check_plugin_name};
use super::{typed, wasmcp};
use crate::failure::{Class, Failure};
use crate::sandbox::bindings::tools as said;
use crate::sandbox::exports::Visit;
use crate::sandbox::limits::Limits;
use crate::sandbox::wasmcp::Wasmcp;
use crate::sandbox::{CallContext, Capability, Compiled, Sandbox};

/// More tools than any client shows. Test: `security::admission::imposters_are_refused`.
const MOST_TOOLS: usize = 256;
/// A description is read by a model each time it chooses a tool. Test: `security::admission::imposters_are_refused`.
const MOST_TEXT: usize = 8 << 10;
/// All texts and schemas of a plugin together.
const MOST_DESCRIPTION: usize = 1 << 20;
const MOST_NAME: usize = 64;

/// Runs `describe` in the sandbox.
pub async fn describe(sandbox: &Sandbox, compiled: &Arc<Compiled>, label: &str) -> Result<Description, Failure> {
    let said = visit(sandbox, compiled, label, &CancellationToken::new()).describe().await?;
    check(said, compiled)
}

/// Lets a component made for wasmcp list its tools, in the sandbox.
pub async fn describe_wasmcp(
    sandbox: &Sandbox,
    (compiled, wasmcp): (&Arc<Compiled>, &Arc<Wasmcp>),
    label: &str,
    manifest: Option<&Manifest>,
    imports: &[String],
) -> Result<Description, Failure> {
    let listed = visit(sandbox, compiled, label, &CancellationToken::new()).list_tools(wasmcp.clone()).await;
    let listed = listed
        .map_err(|failure| Failure { message: format!("{label} does not list its tools. {}", failure.message), ..failure })?;
    let description = check(wasmcp::describe(listed, label, manifest, imports)?, compiled)?;
    Ok(without_sessions(description))
}

/// A guest that is asked about itself has nothing and reaches nobody.
fn visit<'a>(sandbox: &'a Sandbox, compiled: &Arc<Compiled>, label: &str, cancel: &'a CancellationToken) -> Visit<'a> {
    Visit {
        sandbox,
        compiled: compiled.clone(),
        context: CallContext { label: label.into(), ..CallContext::default() },
        limits: Limits::of_describe(sandbox.limits()),
        cancel,
    }
}

/// Describes a component that cannot do it itself, from the types of its functions. Nothing is run.
pub fn describe_typed(
    compiled: &Compiled,
    label: &str,
    manifest: Option<&Manifest>,
    imports: &[String],
    wasm: &[u8],
) -> Result<Description, Failure> {
    let typed = compiled.typed.as_ref().map_err(|why| {
        Failure::invalid(format!("{label} cannot be a plugin. {why}"))
            .suggest("Export plain functions, or zipfs:plugin/tools@0.1.0 (the zipfs-sdk crate does).")
    })?;
    Ok(without_sessions(check(typed::describe(typed, label, manifest, imports, wasm)?, compiled)?))
}

/// Its tools work where there is no session, too: what they touch was concluded.
fn without_sessions(mut description: Description) -> Description {
    for tool in &mut description.tools {
        tool.access.session_optional = true;
    }
    description
}

fn check(said: said::PluginDescription, compiled: &Compiled) -> Result<Description, Failure> {
    check_plugin_name(&said.name)?;
    let weight: usize = said.tools.iter().map(weigh).sum::<usize>() + said.instructions.as_ref().map_or(0, String::len);
    if said.tools.len() > MOST_TOOLS || weight > MOST_DESCRIPTION {
        return Err(refused(
            &said.name,
            &format!(
                "it describes {} tools in {weight} bytes; at most {MOST_TOOLS} in {MOST_DESCRIPTION} are taken",
                said.tools.len()
            ),
        ));
    }
    check_text(&said.name, "version", &said.version, MOST_NAME)?;
    for text in said.title.iter().chain(&said.instructions) {
        check_text(&said.name, "title or instructions", text, MOST_TEXT)?;
    }
    let mut names = BTreeSet::new();
    let mut tools = Vec::with_capacity(said.tools.len());
    for tool in said.tools {
        let tool = check_tool(&said.name, tool)?;
        if !names.insert(tool.portable_name()) {
            return Err(refused(&said.name, &format!("it has two tools named {:?}", tool.name)));
        }
        tools.push(tool);
    }
    Ok(Description {
        name: said.name,
        version: said.version,
        title: said.title,
        instructions: said.instructions,
        tools,
        has_resources: compiled.resources.is_some(),
        has_prompts: compiled.prompts.is_some(),
        has_completions: compiled.completions.is_some(),
    })
}

fn weigh(tool: &said::Tool) -> usize {
    tool.name.len()
        + tool.description.len()
        + tool.input_schema.len()
        + tool.output_schema.as_ref().map_or(0, String::len)
        + tool.meta.as_ref().map_or(0, String::len)
        + tool.icons.iter().map(|icon| icon.src.len()).sum::<usize>()
}

fn check_tool(plugin: &str, tool: said::Tool) -> Result<Tool, Failure> {
    let fits = (1..=MOST_NAME).contains(&tool.name.len())
        && tool.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if !fits {
        let shown: String = tool.name.chars().take(80).collect();
        return Err(refused(
            plugin,
            &format!("{shown:?} cannot be the name of a tool; use letters, digits, `_`, `-` and `.`, at most 64"),
        ));
    }
    check_text(plugin, &tool.name, &tool.description, MOST_TEXT)?;
    if tool.description.trim().is_empty() {
        return Err(refused(plugin, &format!("the tool {} has no description", tool.name)));
    }
    if let Some(text) = &tool.title {
        check_text(plugin, &tool.name, text, 200)?;
    }
    let object = |what: &str, text: &str| -> Result<Map<String, Value>, Failure> {
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Ok(map),
            _ => Err(refused(plugin, &format!("the {what} of {} is not a JSON object", tool.name))),
        }
    };
    let schema = |what: &str, text: &str| -> Result<Map<String, Value>, Failure> {
        let map = object(what, text)?;
        if map.get("type") != Some(&Value::String("object".into())) {
            return Err(refused(plugin, &format!("the {what} of {} is not of type \"object\"", tool.name)));
        }
        jsonschema::draft202012::new(&Value::Object(map.clone()))
            .map_err(|error| refused(plugin, &format!("the {what} of {} is not a valid JSON Schema: {error}", tool.name)))?;
        Ok(map)
    };
    let input_schema = schema("input schema", &tool.input_schema)?;
    let access = check_access(plugin, &tool)?;
    let has_session = input_schema.get("properties").and_then(|properties| properties.get("session")).is_some();
    if access.workspace != WorkspaceAccess::None && has_session {
        return Err(refused(plugin, &format!("{} has an argument `session`, which the host adds itself", tool.name)));
    }
    Ok(Tool {
        output_schema: tool.output_schema.as_deref().map(|text| schema("output schema", text)).transpose()?,
        meta: tool.meta.as_deref().map(|text| object("`_meta`", text)).transpose()?,
        icons: tool.icons.into_iter().map(|icon| Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes }).collect(),
        input_schema,
        access,
        title: tool.title,
        description: tool.description,
        name: tool.name,
    })
}

fn check_access(plugin: &str, tool: &said::Tool) -> Result<Access, Failure> {
    let workspace = match tool.access.workspace {
        said::WorkspaceAccess::None => WorkspaceAccess::None,
        said::WorkspaceAccess::Read => WorkspaceAccess::Read,
        said::WorkspaceAccess::Write => WorkspaceAccess::Write,
    };
    let mut capabilities = Vec::new();
    for name in &tool.access.capabilities {
        let Some(capability) = Capability::by_name(name) else {
            return Err(refused(plugin, &format!("{} declares the capability {name:?}, which there is not", tool.name)));
        };
        capabilities.push(capability);
    }
    let role = match tool.access.role {
        Some(said::Role::Viewer) => Role::Viewer,
        Some(said::Role::Operator) => Role::Operator,
        Some(said::Role::Admin) => Role::Admin,
        None if workspace == WorkspaceAccess::Write || tool.access.destructive => Role::Operator,
        None => Role::Viewer,
    };
    Ok(Access {
        workspace,
        capabilities,
        role,
        destructive: tool.access.destructive,
        idempotent: tool.access.idempotent,
        open_world: tool.access.open_world,
        session_optional: false,
    })
}

/// Texts reach terminals and models: no control characters, which can hide what is there, and an end.
fn check_text(plugin: &str, what: &str, text: &str, most: usize) -> Result<(), Failure> {
    if text.len() > most {
        return Err(refused(plugin, &format!("the text of {what} has {} bytes; at most {most} are taken", text.len())));
    }
    let hides =
        |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.chars().any(hides) {
        return Err(refused(plugin, &format!("the text of {what} has control characters")));
    }
    Ok(())
}

fn refused(plugin: &str, why: &str) -> Failure {
    Failure::new(Class::Forbidden, "PLUGIN_REFUSED", format!("The plugin {plugin:?} is refused: {why}."))
}
