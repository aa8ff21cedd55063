//! Plugins made for wasmcp: what they list becomes their description. What they hint at narrows what they are given, and never widens it.

use serde_json::Value;

use super::derived::{Derived, check_notes, describe_arguments, plugin_name};
use super::description::WorkspaceAccess;
use super::manifest::{FunctionNotes, Manifest};
use crate::failure::Failure;
use crate::sandbox::bindings::tools as said;
use crate::sandbox::wasmcp::Listed;

/// What such a plugin says of itself, in our words. Checked like what others say.
pub fn describe(
    listed: Vec<Listed>,
    label: &str,
    manifest: Option<&Manifest>,
    imports: &[String],
) -> Result<said::PluginDescription, Failure> {
    let name = manifest.map_or_else(|| plugin_name(label), |manifest| manifest.name.clone());
    if listed.is_empty() {
        return Err(Failure::invalid(format!("{label} is not a plugin: it lists no tool.")));
    }
    let derived = Derived::of(imports, manifest);
    let notes = |tool: &Listed| manifest.and_then(|manifest| manifest.functions.get(&tool.name));
    let tools: Vec<said::Tool> = listed
        .into_iter()
        .map(|listed| {
            let notes = notes(&listed);
            tool(listed, notes, &derived)
        })
        .collect();
    check_notes(manifest, &tools)?;
    let version = manifest.map_or_else(|| "0.0.0".into(), |manifest| manifest.version.clone());
    Ok(said::PluginDescription { name, version, title: None, instructions: None, tools })
}

fn tool(listed: Listed, notes: Option<&FunctionNotes>, derived: &Derived) -> said::Tool {
    let own = notes.and_then(|notes| notes.access);
    let access = derived.access(if listed.read_only {
        Some(own.map_or(WorkspaceAccess::Read, |own| own.min(WorkspaceAccess::Read)))
    } else {
        own
    });
    said::Tool {
        title: notes.and_then(|notes| notes.title.clone()).or(listed.title),
        description: notes
            .and_then(|notes| notes.description.clone())
            .or(listed.description.filter(|text| !text.trim().is_empty()))
            .unwrap_or_else(|| format!("Calls `{}`.", listed.name)),
        input_schema: with_words(listed.input_schema, notes),
        output_schema: listed.output_schema,
        icons: listed.icons,
        meta: listed.meta,
        access: said::Access {
            destructive: listed.destructive && !listed.read_only,
            idempotent: access.idempotent || listed.idempotent,
            open_world: access.open_world || listed.open_world,
            ..access
        },
        name: listed.name,
    }
}

/// A schema that is none stays as it is, and is refused with its tool's name.
fn with_words(schema: String, notes: Option<&FunctionNotes>) -> String {
    match (notes, serde_json::from_str::<Value>(&schema)) {
        (Some(_), Ok(mut value)) => {
            describe_arguments(&mut value, notes);
            value.to_string()
        }
        _ => schema,
    }
}
