//! Plugins that know nothing of us: each exported function becomes a tool, described by its types.
//!
//! What the types do not say comes from the component's own documentation, or from `[function.…]` in `plugin.toml`.

mod docs;
#[cfg(test)]
mod round_trip;
mod schema;
mod signature;

use serde_json::{Map, Value, json};

use super::description::WorkspaceAccess;
use super::manifest::{FunctionNotes, Manifest};
use crate::failure::Failure;
use crate::sandbox::Capability;
use crate::sandbox::bindings::tools as said;
use crate::sandbox::typed::{Function, Shape, Typed};
use docs::Docs;

/// What such a plugin would say about itself, if it could. Checked like what others say.
pub fn describe(
    typed: &Typed,
    label: &str,
    manifest: Option<&Manifest>,
    imports: &[String],
    wasm: &[u8],
) -> Result<said::PluginDescription, Failure> {
    let docs = Docs::of(wasm);
    let name = manifest.map_or_else(|| plugin_name(label), |manifest| manifest.name.clone());
    if typed.functions.is_empty() {
        return Err(Failure::invalid(format!("{label} is not a plugin: it exports no function that could be a tool."))
            .suggest("Export functions from its world, or zipfs:plugin/tools@0.1.0."));
    }
    let access = Derived::of(imports, manifest);
    let notes = |function: &Function| manifest.and_then(|manifest| manifest.functions.get(&function.tool_name()));
    let tools = typed.functions.iter().map(|function| tool(function, notes(function), &docs, &access)).collect();
    if let Some(unknown) = manifest.and_then(|manifest| manifest.functions.keys().find(|name| typed.find(name).is_none())) {
        let known: Vec<String> = typed.functions.iter().take(20).map(Function::tool_name).collect();
        return Err(Failure::invalid(format!(
            "plugin.toml describes the function {unknown}, which the component does not export."
        ))
        .suggest(format!("It exports: {}.", known.join(", "))));
    }
    Ok(said::PluginDescription {
        name,
        version: manifest
            .map_or_else(|| docs.version.clone().unwrap_or_else(|| "0.0.0".into()), |manifest| manifest.version.clone()),
        title: None,
        instructions: docs.description.clone(),
        tools,
    })
}

/// What any function of the component could touch. Nothing tells which one does, so it goes for all of them.
struct Derived {
    workspace: WorkspaceAccess,
    /// By name, as tools declare them.
    capabilities: Vec<String>,
    open_world: bool,
}

impl Derived {
    /// Who imports the filesystem may write it, unless the manifest asks for less.
    fn of(imports: &[String], manifest: Option<&Manifest>) -> Derived {
        let left_out = |name: &str| manifest.is_some_and(|manifest| manifest.runs_without(name));
        let imports = |prefix: &str| imports.iter().any(|name| name.starts_with(prefix) && !left_out(name));
        let most = if imports("wasi:filesystem/") { WorkspaceAccess::Write } else { WorkspaceAccess::None };
        let asked = manifest.map_or(most, |manifest| manifest.workspace.access);
        let open_world = imports("wasi:http/");
        let asked_for = |capability: &Capability| match manifest {
            Some(manifest) => manifest.asks_for(*capability),
            None => open_world && *capability == Capability::Http,
        };
        let capabilities = Capability::ALL.into_iter().filter(asked_for).map(|capability| capability.name().to_owned()).collect();
        Derived { workspace: most.min(asked), capabilities, open_world }
    }
}

fn tool(function: &Function, notes: Option<&FunctionNotes>, docs: &Docs, derived: &Derived) -> said::Tool {
    let workspace = notes.and_then(|notes| notes.access).map_or(derived.workspace, |asked| asked.min(derived.workspace));
    let own = notes.and_then(|notes| notes.description.clone());
    let description = own
        .or_else(|| docs.of_function(function.interface.as_deref(), &function.name))
        .unwrap_or_else(|| format!("Calls `{}`.", signature::of(function)));
    said::Tool {
        name: function.tool_name(),
        title: notes.and_then(|notes| notes.title.clone()),
        description,
        input_schema: input_schema(function, notes).to_string(),
        output_schema: output_schema(function.result.as_ref()).map(|schema| schema.to_string()),
        icons: Vec::new(),
        meta: None,
        access: said::Access {
            workspace: match workspace {
                WorkspaceAccess::None => said::WorkspaceAccess::None,
                WorkspaceAccess::Read => said::WorkspaceAccess::Read,
                WorkspaceAccess::Write => said::WorkspaceAccess::Write,
            },
            capabilities: derived.capabilities.clone(),
            role: None,
            destructive: false,
            idempotent: workspace == WorkspaceAccess::None && !derived.open_world,
            open_world: derived.open_world,
        },
    }
}

fn input_schema(function: &Function, notes: Option<&FunctionNotes>) -> Value {
    let mut schema = schema::of_fields(&function.parameters);
    let arguments = notes.map(|notes| &notes.arguments).into_iter().flatten();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, text) in arguments {
            if let Some(property) = properties.get_mut(name).and_then(Value::as_object_mut) {
                property.insert("description".into(), json!(text));
            }
        }
    }
    schema
}

/// As [`crate::sandbox::typed::call`] answers: a record as it is, anything else as `result`. Errors are no part of it.
fn output_schema(result: Option<&Shape>) -> Option<Value> {
    let shape = match result? {
        Shape::Result(ok, _) => ok.as_deref()?,
        shape => shape,
    };
    Some(match shape {
        Shape::Record(fields) => schema::of_fields(fields),
        shape => {
            let properties = Map::from_iter([("result".to_owned(), schema::of(shape))]);
            json!({"type": "object", "properties": properties, "required": ["result"], "additionalProperties": false})
        }
    })
}

/// A name from the name of a file: `Get_Weather-1.0` is `get-weather-1-0`.
fn plugin_name(label: &str) -> String {
    let plain: String =
        label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).take(64).collect();
    match plain.trim_matches('-') {
        "" => "component".into(),
        name => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_name_give_names_of_plugins() {
        for (label, name) in [("words", "words"), ("Get_Weather-1.0", "get-weather-1-0"), ("--", "component"), ("ü", "component")]
        {
            assert_eq!(plugin_name(label), name);
            crate::plugins::manifest::check_plugin_name(&plugin_name(label)).unwrap();
        }
        crate::plugins::manifest::check_plugin_name(&plugin_name(&"x".repeat(500))).unwrap();
    }
}
