//! Components that were made for other hosts and cannot be served here: told apart by what they export, and told why.

use super::anatomy::Anatomy;
use crate::failure::{Class, Failure};
use crate::sandbox::wasmcp;

/// Refuses those that are known. Whatever else does not fit is found when its functions are read.
pub fn check(anatomy: &Anatomy) -> Result<(), Failure> {
    let exports = |what: &dyn Fn(&str) -> bool| anatomy.exports.iter().find(|name| what(name));
    if exports(&|name| name.starts_with("zipfs:plugin/tools@") || wasmcp::is_tools(name)).is_some() {
        return Ok(());
    }
    if let Some(name) = exports(&|name| name.starts_with("act:core/")) {
        return Err(refused(format!(
            "The component was made for ACT ({name}). Its tools are asynchronous functions that answer in streams; this host calls \
             functions one at a time, and takes each answer whole."
        ))
        .suggest("Export the same as plain typed functions, or as zipfs:plugin/tools@0.1.0: what is behind them can stay."));
    }
    if let Some(name) = exports(&|name| name.starts_with("wasmcp:")) {
        return Err(refused(format!("The component was made for wasmcp, and exports {name} but no tools."))
            .suggest("Of wasmcp's interfaces `tools` is served. Middleware, resources and prompts are not."));
    }
    let serves = exports(&|name| name.starts_with("wasi:http/incoming-handler@"));
    if serves.is_some() && anatomy.exports.iter().all(|name| name.starts_with("wasi:")) {
        return Err(refused("The component is an HTTP server of its own, and exports no function that could be a tool.".into())
            .suggest("Add the component that its tools are in, as it is before it is composed with a transport."));
    }
    Ok(())
}

/// What an author can do who imports something that no plugin is given.
pub fn instead_of(import: &str) -> &'static str {
    if import.starts_with("wasi:sockets/") {
        return "If only the runtime of its language brings that along, say so in plugin.toml: without = [\"wasi:sockets\"]";
    }
    if import.starts_with("wasmcp:") {
        return "Of wasmcp, tools are served, not its sessions, stores, tokens and middleware. Build it without them.";
    }
    "Build it without what needs that: sockets, processes and threads are not there."
}

fn refused(why: String) -> Failure {
    Failure::new(Class::Forbidden, "PLUGIN_REFUSED", why)
}
