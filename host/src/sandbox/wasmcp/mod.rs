//! Components made for wasmcp: one interface with `list-tools` and `call-tool`, which take and give MCP's messages as types of WIT.
//!
//! There are many versions of these types; they differ mostly in what a function is told of its surroundings. So nothing here is
//! bound to one of them: [`given`] makes what a function takes from the function's own type, and [`answers`] reads what it gives by
//! the names of its fields. What clients see of it is in `plugins/wasmcp`.

mod answers;
mod given;
mod streams;

use serde_json::Value;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Type, Val};
use wasmtime::{Engine, Store};

use super::bindings::tools::Reply;
use super::bindings::types::Error;
use super::guest::Guest;
pub use answers::Listed;
use given::{Given, Maker};

/// Lists come in pages; one that never ends is cut off here. Test: `security::wasmcp::lists_without_end_are_refused`.
const MOST_PAGES: usize = 64;
/// One more than any plugin may have, so that whoever counts sees that it is too many. Same test.
const MOST_TOOLS: usize = 257;

/// A component that speaks it.
pub struct Wasmcp {
    instance: InstancePre<Guest>,
    list: Method,
    call: Method,
}

/// One of the two functions.
struct Method {
    name: &'static str,
    parameters: Vec<(String, Type)>,
    export: ComponentExportIndex,
}

impl Wasmcp {
    /// `None` for a component that does not speak it; an error says why one that does cannot be served.
    pub fn of(engine: &Engine, component: &Component, instance: InstancePre<Guest>) -> Option<Result<Wasmcp, String>> {
        let ty = component.component_type();
        let (name, item) = ty.exports(engine).find(|(name, _)| is_tools(name))?;
        let ComponentItem::ComponentInstance(interface) = item.ty else { return None };
        let method = |wanted: &'static str| {
            let found = interface.exports(engine).find_map(|(function, item)| match item.ty {
                ComponentItem::ComponentFunc(func) if function == wanted => Some(func),
                _ => None,
            });
            let func = found.ok_or_else(|| format!("Its interface {name} has no function {wanted}."))?;
            Method::of(component, name, wanted, &func)
        };
        Some(method("list-tools").and_then(|list| Ok(Wasmcp { instance, list, call: method("call-tool")? })))
    }

    pub async fn instantiate(&self, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        self.instance.instantiate_async(store).await.map(drop)
    }

    /// Asks for all tools, page by page, in one instance.
    pub async fn list(&self, store: &mut Store<Guest>) -> wasmtime::Result<Result<Vec<Listed>, Error>> {
        let instance = self.instance.instantiate_async(&mut *store).await?;
        store.data().call.timings.instantiated();
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MOST_PAGES {
            let given = Given { cursor: cursor.as_deref(), ..Given::default() };
            let answer = self.list.call(store, &instance, &given).await?;
            let page = match answers::page(&answer) {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            tools.extend(page.tools);
            cursor = page.next;
            if cursor.is_none() || tools.len() >= MOST_TOOLS {
                return Ok(Ok(tools));
            }
        }
        Ok(Err(answers::broken(format!("Its list of tools has more than {MOST_PAGES} pages."))))
    }

    /// Calls a tool in a fresh instance.
    pub async fn call(&self, store: &mut Store<Guest>, tool: &str, arguments: &str) -> wasmtime::Result<Result<Reply, Error>> {
        let instance = self.instance.instantiate_async(&mut *store).await?;
        store.data().call.timings.instantiated();
        let given = Given { name: Some(tool), arguments: Some(arguments), cursor: None };
        let mut answer = self.call.call(store, &instance, &given).await?;
        if let Err(failure) = streams::read_all(store, &mut answer).await? {
            return Ok(Err(failure.into()));
        }
        Ok(answers::reply(tool, &answer))
    }
}

impl Method {
    fn of(component: &Component, interface: &str, name: &'static str, func: &ComponentFunc) -> Result<Method, String> {
        if func.async_() {
            return Err(format!("The function {interface}#{name} is asynchronous; this host calls functions one at a time."));
        }
        let parameters: Vec<(String, Type)> = func.params().map(|(name, ty)| (name.to_owned(), ty)).collect();
        // Made once now, so that what cannot be made is said before anybody calls.
        Maker::new(&Given::default())
            .all(&parameters)
            .map_err(|why| format!("The function {interface}#{name} takes {why}, which this host has not."))?;
        if func.results().len() != 1 {
            return Err(format!("The function {interface}#{name} gives nothing."));
        }
        let parent = component.get_export_index(None, interface);
        let export = component.get_export_index(parent.as_ref(), name);
        let export = export.ok_or_else(|| format!("The function {interface}#{name} cannot be called."))?;
        Ok(Method { name, parameters, export })
    }

    async fn call(
        &self,
        store: &mut Store<Guest>,
        instance: &wasmtime::component::Instance,
        given: &Given<'_>,
    ) -> wasmtime::Result<Val> {
        let func = instance.get_func(&mut *store, self.export);
        let func = func.ok_or_else(|| wasmtime::format_err!("the function {} is not there", self.name))?;
        let parameters = Maker::new(given).all(&self.parameters).map_err(|why| wasmtime::format_err!("it takes {why}"))?;
        let mut results = [Val::Bool(false)];
        func.call_async(&mut *store, &parameters, &mut results).await?;
        let [result] = results;
        Ok(result)
    }
}

/// The interface that has the two functions: `wasmcp:mcp-v20250618/tools@0.1.7`, and as older versions call it.
pub fn is_tools(export: &str) -> bool {
    let Some((package, interface)) = export.split_once('/') else { return false };
    let interface = interface.split('@').next().unwrap_or(interface);
    package.starts_with("wasmcp:mcp") && matches!(interface, "tools" | "tools-capability")
}

/// Interfaces by which such components send messages in between, over a stream that they are given with a call. They are given none,
/// so there is nothing behind these, and nobody calls them.
pub fn is_talk(import: &str) -> bool {
    let Some((package, interface)) = import.split_once('/') else { return false };
    let interface = interface.split('@').next().unwrap_or(interface);
    package.starts_with("wasmcp:") && matches!(interface, "server-io" | "notifications" | "server-notifications")
}

/// A text that ought to be JSON, as JSON; else as text.
fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_told_apart_by_package_and_name() {
        for name in ["wasmcp:mcp-v20250618/tools@0.1.7", "wasmcp:mcp-v20251125/tools@0.1.0", "wasmcp:mcp/tools-capability@0.3.0"] {
            assert!(is_tools(name), "{name}");
        }
        for name in ["wasmcp:mcp-v20250618/resources@0.1.7", "evil:mcp/tools@0.1.0", "tools", "zipfs:plugin/tools@0.1.0"] {
            assert!(!is_tools(name), "{name}");
        }
        assert!(is_talk("wasmcp:mcp-v20250618/server-io@0.1.7"));
        for name in ["wasmcp:mcp-v20250618/sessions@0.1.7", "wasi:http/types@0.2.0", "other:server/server-io"] {
            assert!(!is_talk(name), "{name}");
        }
    }
}
