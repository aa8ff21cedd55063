//! What stands where something would be that no plugin is given, and that is imported all the same: every function ends the call.
//!
//! Sockets, which the runtimes of some languages bring along; and the ways by which components made for wasmcp talk in between.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceType};
use wasmtime::{Engine, Result, bail};

use crate::sandbox::guest::Guest;
use crate::sandbox::wasmcp;

const SOCKETS: &str = "wasi:sockets/";

/// Nobody ever has one of these: whatever would make one ends the call. Others that the interfaces name are those of `wasi:io`.
const RESOURCES: [(&str, &str); 6] = [
    ("network", "network"),
    ("tcp", "tcp-socket"),
    ("udp", "udp-socket"),
    ("udp", "incoming-datagram-stream"),
    ("udp", "outgoing-datagram-stream"),
    ("ip-name-lookup", "resolve-address-stream"),
];

fn is_one(name: &str) -> bool {
    name.starts_with(SOCKETS) || wasmcp::is_talk(name)
}

/// Whether a component imports any of it.
pub fn are_imported(engine: &Engine, component: &Component) -> bool {
    component.component_type().imports(engine).any(|(name, _)| is_one(name))
}

/// Puts something in the place of every function of these that the component imports.
pub fn link(linker: &mut Linker<Guest>, engine: &Engine, component: &Component) -> Result<()> {
    for (name, item) in component.component_type().imports(engine) {
        let ComponentItem::ComponentInstance(interface) = item.ty else { continue };
        if !is_one(name) {
            continue;
        }
        let mut instance = linker.instance(name)?;
        let short = name.strip_prefix(SOCKETS).and_then(|rest| rest.split('@').next());
        for (_, resource) in RESOURCES.iter().filter(|(interface, _)| Some(*interface) == short) {
            instance.resource(resource, ResourceType::host::<()>(), |_, _| Ok(()))?;
        }
        for (function, item) in interface.exports(engine) {
            if let ComponentItem::ComponentFunc(_) = item.ty {
                let called = format!("{name}#{function}");
                instance.func_new(function, move |_, _, _, _| bail!("called {called}, which no plugin is given"))?;
            }
        }
    }
    Ok(())
}
