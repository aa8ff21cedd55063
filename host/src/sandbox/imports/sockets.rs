//! What stands where sockets would be, for plugins whose language brings the import along: every function ends the call.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, ResourceType};
use wasmtime::{Engine, Result, bail};

use crate::sandbox::guest::Guest;

const PREFIX: &str = "wasi:sockets/";

/// Nobody ever has one of these: whatever would make one ends the call. Others that the interfaces name are those of `wasi:io`.
const RESOURCES: [(&str, &str); 6] = [
    ("network", "network"),
    ("tcp", "tcp-socket"),
    ("udp", "udp-socket"),
    ("udp", "incoming-datagram-stream"),
    ("udp", "outgoing-datagram-stream"),
    ("ip-name-lookup", "resolve-address-stream"),
];

/// Whether a component imports sockets.
pub fn are_imported(engine: &Engine, component: &Component) -> bool {
    component.component_type().imports(engine).any(|(name, _)| name.starts_with(PREFIX))
}

/// Puts something in the place of every function of sockets that the component imports.
pub fn stub(linker: &mut Linker<Guest>, engine: &Engine, component: &Component) -> Result<()> {
    for (name, item) in component.component_type().imports(engine) {
        let (Some(rest), ComponentItem::ComponentInstance(interface)) = (name.strip_prefix(PREFIX), item.ty) else { continue };
        let short = rest.split('@').next().unwrap_or(rest);
        let mut instance = linker.instance(name)?;
        for (_, resource) in RESOURCES.iter().filter(|(interface, _)| *interface == short) {
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
