//! Which functions a component exports, and what they take and give.

use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};

use super::shape::{Field, Reader, Shape};
use crate::sandbox::guest::Guest;

/// More tools than any client shows; the same number as for other plugins. Test: `security::typed::more_functions_than_tools_are_refused`.
const MOST_FUNCTIONS: usize = 256;

/// A component that can be called function by function.
pub struct Typed {
    pub(super) instance: InstancePre<Guest>,
    pub functions: Vec<Function>,
}

/// One function that is a tool.
pub struct Function {
    /// The interface it is in, as in `docs:adder/add@0.1.0`; none at the top.
    pub interface: Option<String>,
    /// As in WIT: `get-weather`.
    pub name: String,
    pub parameters: Vec<Field>,
    pub result: Option<Shape>,
    pub(super) export: ComponentExportIndex,
}

impl Typed {
    /// Finds the functions. An error says which function cannot be a tool, and why.
    pub fn of(engine: &Engine, component: &Component, instance: InstancePre<Guest>) -> Result<Typed, String> {
        let mut reader = Reader::default();
        let mut functions = Vec::new();
        let ty = component.component_type();
        for (name, item) in ty.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(func) => {
                    functions.push(function(component, &mut reader, None, name, &func)?);
                }
                ComponentItem::ComponentInstance(instance) if !is_machinery(name) => {
                    for (inner, item) in instance.exports(engine) {
                        if let ComponentItem::ComponentFunc(func) = item.ty {
                            functions.push(function(component, &mut reader, Some(name), inner, &func)?);
                        }
                    }
                }
                _ => {}
            }
            if functions.len() > MOST_FUNCTIONS {
                return Err(format!("It exports more than {MOST_FUNCTIONS} functions."));
            }
        }
        Ok(Typed { instance, functions })
    }

    /// The function that became a tool of this name.
    pub fn find(&self, tool: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.tool_name() == tool)
    }
}

/// Exports that are for the machinery of a language or of WASI, and no tools: `wasi:cli/run`, and what componentize-py leaves in.
fn is_machinery(interface: &str) -> bool {
    interface.starts_with("wasi:") || interface == "exports"
}

fn function(
    component: &Component,
    reader: &mut Reader,
    interface: Option<&str>,
    name: &str,
    func: &ComponentFunc,
) -> Result<Function, String> {
    let shown = match interface {
        Some(interface) => format!("{interface}#{name}"),
        None => name.to_owned(),
    };
    if name.starts_with('[') {
        return Err(format!("The function {shown} belongs to a resource, whose life ends with the call."));
    }
    if func.async_() {
        return Err(format!("The function {shown} is asynchronous; this host calls functions one at a time."));
    }
    let mut parameters = Vec::new();
    for (parameter, ty) in func.params() {
        let shape = reader.read(&ty).map_err(|why| format!("The parameter `{parameter}` of the function {shown} has {why}."))?;
        parameters.push(Field { name: parameter.to_owned(), shape });
    }
    let mut results = Vec::new();
    for ty in func.results() {
        results.push(reader.read(&ty).map_err(|why| format!("The result of the function {shown} has {why}."))?);
    }
    let parent = interface.and_then(|interface| component.get_export_index(None, interface));
    let export = component.get_export_index(parent.as_ref(), name);
    match (export, results.len()) {
        (Some(export), 0 | 1) => Ok(Function {
            interface: interface.map(str::to_owned),
            name: name.to_owned(),
            parameters,
            result: results.pop(),
            export,
        }),
        _ => Err(format!("The function {shown} cannot be called.")),
    }
}

impl Function {
    /// The name of the tool: `get_weather`, or `fs_list_directory` for one in an interface `fs`.
    pub fn tool_name(&self) -> String {
        let plain = |name: &str| name.replace('-', "_");
        match &self.interface {
            None => plain(&self.name),
            Some(interface) => {
                let short = interface.rsplit('/').next().unwrap_or(interface).split('@').next().unwrap_or(interface);
                format!("{}_{}", plain(short), plain(&self.name))
            }
        }
    }
}
