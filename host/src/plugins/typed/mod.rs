//! Plugins that know nothing of us: each exported function becomes a tool, described by its types.
//!
//! What the types do not say comes from the component's own documentation, or from `[function.…]` in `plugin.toml`.

mod docs;
#[cfg(test)]
mod round_trip;
mod schema;
mod signature;

use serde_json::{Map, Value, json};

use super::derived::{Derived, check_notes, describe_arguments, plugin_name};
use super::manifest::{FunctionNotes, Manifest};
use crate::failure::Failure;
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
    let tools: Vec<said::Tool> = typed.functions.iter().map(|function| tool(function, notes(function), &docs, &access)).collect();
    check_notes(manifest, &tools)?;
    Ok(said::PluginDescription {
        name,
        version: manifest
            .map_or_else(|| docs.version.clone().unwrap_or_else(|| "0.0.0".into()), |manifest| manifest.version.clone()),
        title: None,
        instructions: docs.description.clone(),
        tools,
    })
}

fn tool(function: &Function, notes: Option<&FunctionNotes>, docs: &Docs, derived: &Derived) -> said::Tool {
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
        access: derived.access(notes.and_then(|notes| notes.access)),
    }
}

fn input_schema(function: &Function, notes: Option<&FunctionNotes>) -> Value {
    let mut schema = schema::of_fields(&function.parameters);
    describe_arguments(&mut schema, notes);
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
