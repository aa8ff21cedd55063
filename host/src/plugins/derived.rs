//! What is concluded of a component that does not speak our contract: its name, and what its tools may touch.

use serde_json::{Value, json};

use super::description::WorkspaceAccess;
use super::manifest::{FunctionNotes, Manifest};
use crate::failure::Failure;
use crate::sandbox::Capability;
use crate::sandbox::bindings::tools as said;

/// What any tool of the component could touch. Nothing tells which one does, so it goes for all of them.
pub struct Derived {
    pub workspace: WorkspaceAccess,
    /// By name, as tools declare them.
    pub capabilities: Vec<String>,
    pub open_world: bool,
}

impl Derived {
    /// Who imports the filesystem may write it, unless the manifest asks for less.
    pub fn of(imports: &[String], manifest: Option<&Manifest>) -> Derived {
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

    /// What one tool is given of that: less of the workspace, if somebody says so.
    pub fn access(&self, asked: Option<WorkspaceAccess>) -> said::Access {
        let workspace = asked.map_or(self.workspace, |asked| asked.min(self.workspace));
        said::Access {
            workspace: match workspace {
                WorkspaceAccess::None => said::WorkspaceAccess::None,
                WorkspaceAccess::Read => said::WorkspaceAccess::Read,
                WorkspaceAccess::Write => said::WorkspaceAccess::Write,
            },
            capabilities: self.capabilities.clone(),
            role: None,
            destructive: false,
            idempotent: workspace == WorkspaceAccess::None && !self.open_world,
            open_world: self.open_world,
        }
    }
}

/// Puts the words of `[function.…]` for arguments into an input schema.
pub fn describe_arguments(schema: &mut Value, notes: Option<&FunctionNotes>) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, text) in notes.map(|notes| &notes.arguments).into_iter().flatten() {
        if let Some(property) = properties.get_mut(name).and_then(Value::as_object_mut) {
            property.insert("description".into(), json!(text));
        }
    }
}

/// Words for a tool that there is not are a mistake.
pub fn check_notes(manifest: Option<&Manifest>, tools: &[said::Tool]) -> Result<(), Failure> {
    let mut noted = manifest.into_iter().flat_map(|manifest| manifest.functions.keys());
    let Some(unknown) = noted.find(|name| tools.iter().all(|tool| tool.name != **name)) else { return Ok(()) };
    let known: Vec<&str> = tools.iter().take(20).map(|tool| tool.name.as_str()).collect();
    let message = format!("plugin.toml describes the function {unknown}, which the component does not export.");
    Err(Failure::invalid(message).suggest(format!("It exports: {}.", known.join(", "))))
}

/// A name from the name of a file: `Get_Weather-1.0` is `get-weather-1-0`.
pub fn plugin_name(label: &str) -> String {
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
