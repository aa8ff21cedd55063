//! The one trait of a plugin, and what answers the host's two questions: what are you, and do this.

use serde_json::Value;

use crate::bindings::plugin::exports::zipfs::plugin::tools as contract;
use crate::bindings::plugin::zipfs::plugin::types;
use crate::{Error, Resumption, Tool};

/// A set of tools. Exported by [`export!`](crate::export).
pub trait Plugin {
    /// The code of errors about arguments that do not fit the handler's type.
    const INVALID_ARGUMENTS: &'static str = "INVALID_PARAMS";

    /// Who the plugin is.
    fn about() -> About;

    /// Its tools. Runs in every call, so it only lists: texts are constants, schemas are made when the host asks for them.
    fn tools() -> Vec<Tool>;
}

/// What a plugin says about itself.
#[derive(Clone, Debug)]
pub struct About {
    name: &'static str,
    version: &'static str,
    title: Option<&'static str>,
    instructions: Option<&'static str>,
}

impl About {
    /// Name (letters, digits, `-`) and version; `env!("CARGO_PKG_VERSION")` is a good one.
    pub fn new(name: &'static str, version: &'static str) -> About {
        About { name, version, title: None, instructions: None }
    }

    /// The name that people see.
    pub fn title(mut self, title: &'static str) -> About {
        self.title = Some(title);
        self
    }

    /// How the tools belong together, for the agent. Some clients cut after 2,048 characters.
    pub fn instructions(mut self, instructions: &'static str) -> About {
        self.instructions = Some(instructions);
        self
    }
}

/// Describes a plugin, with all its schemas.
pub(crate) fn describe<P: Plugin>() -> contract::PluginDescription {
    let about = P::about();
    contract::PluginDescription {
        name: about.name.to_owned(),
        version: about.version.to_owned(),
        title: about.title.map(str::to_owned),
        instructions: about.instructions.map(str::to_owned),
        tools: P::tools().into_iter().map(Tool::describe).collect(),
    }
}

/// Answers the host for a plugin.
#[doc(hidden)]
pub struct Answering<P>(P);

impl<P: Plugin> contract::Guest for Answering<P> {
    fn describe() -> contract::PluginDescription {
        describe::<P>()
    }

    fn call(name: String, arguments: String, resumed: Option<types::Resumption>) -> Result<contract::Reply, types::Error> {
        Ok(run::<P>(&name, &arguments, resumed.map(Resumption::from))?.into())
    }
}

impl<P: Plugin> crate::bindings::parts::exports::zipfs::plugin::parts::Guest for Answering<P> {
    fn run(tool: String, part: String) -> Result<String, types::Error> {
        let Some(tool) = P::tools().into_iter().find(|known| known.name() == tool) else {
            return Err(Error::not_found("TOOL_NOT_FOUND", format!("This plugin has no tool '{tool}'.")).into());
        };
        Ok(tool.run_part(&part)?)
    }
}

/// Runs the tool of that name.
pub(crate) fn run<P: Plugin>(name: &str, arguments: &str, resumed: Option<Resumption>) -> Result<crate::Reply, Error> {
    match P::tools().into_iter().find(|tool| tool.name() == name) {
        Some(tool) => tool.run(arguments, resumed, P::INVALID_ARGUMENTS),
        None => Err(Error::not_found("TOOL_NOT_FOUND", format!("This plugin has no tool '{name}'."))),
    }
}

/// Turns a value into JSON text. Only a map with keys that are not strings, or a failing `Serialize`, gets an error.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::internal("INTERNAL_ERROR", format!("The result is no JSON: {error}.")))
}

/// Whether a schema describes an object, as the contract wants it for arguments and results.
pub(crate) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}
