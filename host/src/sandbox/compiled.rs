//! Components as machine code: from the binary itself, from the cache, or compiled here and now.
//!
//! This is the one place with unsafe code: it maps code that was compiled before. Such code comes from our own build or from
//! our own cache directory, never from a plugin's author.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use wasmtime::{CustomCodeMemory, Result};

use super::bindings::{archive, completions, parts, plugin, prompts, resources};
use super::engine::Sandbox;
use super::guest::Guest;
use super::imports;
use super::imports::stubs;
use super::typed::Typed;
use super::wasmcp::Wasmcp;
use crate::failure::{Class, Failure};

/// Machine code that was just made.
#[derive(Clone)]
pub struct Code(Component);

impl Code {
    /// The form that can be kept and loaded again.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        self.0.serialize().ok()
    }
}

fn unfit(error: wasmtime::Error) -> Failure {
    let message = format!("This is not a component that can be run here: {error:#}.");
    Failure::new(Class::Invalid, "PLUGIN_INVALID", message).suggest("Build it for wasm32-wasip2, against wit/.")
}

/// A component that can be instantiated, linked and with its exports found.
pub struct Compiled {
    pub tools: Option<plugin::PluginPre<Guest>>,
    pub resources: Option<resources::PluginResourcesPre<Guest>>,
    pub prompts: Option<prompts::PluginPromptsPre<Guest>>,
    pub completions: Option<completions::PluginCompletionsPre<Guest>>,
    pub parts: Option<parts::PluginPartsPre<Guest>>,
    pub archive: Option<archive::ArchiveDriverPre<Guest>>,
    /// The two functions of one that was made for wasmcp, and has no `tools` of ours.
    pub wasmcp: Option<Arc<Wasmcp>>,
    /// The functions of one that has neither; or why there are none that can be called.
    pub typed: Result<Arc<Typed>, String>,
}

impl Compiled {
    /// Whether the component speaks our contract.
    pub fn describes_itself(&self) -> bool {
        self.tools.is_some()
    }
}

impl Sandbox {
    /// Loads code that the build made, in place. `None` if it does not fit this machine.
    pub fn load_embedded(&self, code: &'static [u8]) -> Option<Compiled> {
        // SAFETY: the build script made this code with our own settings and put it into the binary at a page boundary; statics
        // live for ever and nobody writes to them.
        let loaded = match RUNS_IN_PLACE {
            true => unsafe { Component::deserialize_raw(&self.engine, NonNull::from(code)) },
            false => unsafe { Component::deserialize(&self.engine, code) },
        };
        match loaded.and_then(|component| self.link(component)) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                tracing::debug!(%error, "embedded code does not fit this machine");
                None
            }
        }
    }

    /// Loads code from the cache. `None` if it is missing or was made by another version or for another machine.
    pub fn load_cached(&self, path: &Path) -> Option<Compiled> {
        // SAFETY: the file is ours: it is in our data directory, which only its owner can write, and was made by `compile`.
        let component = unsafe { Component::deserialize_file(&self.engine, path) }.ok()?;
        self.link(component).ok()
    }

    /// Loads code that was checked to be what [`Sandbox::compile`] made. `None` if it was made for another machine.
    pub fn load_checked(&self, code: &[u8]) -> Option<Compiled> {
        // SAFETY: the caller has the seal that this program put on it, which covers every byte; and the bytes are copied.
        let component = unsafe { Component::deserialize(&self.engine, code) }.ok()?;
        self.link(component).ok()
    }

    /// Compiles a component. Takes a tenth of a second for each hundred kilobytes.
    pub fn compile(&self, wasm: &[u8]) -> Result<Code, Failure> {
        Component::from_binary(&self.engine, wasm).map(Code).map_err(unfit)
    }

    /// What a component asks of its host, by the names of the interfaces. One of which it only knows types brings nothing along.
    pub fn imports(&self, code: &Code) -> Vec<String> {
        let asks = |item: &ComponentItem| match item {
            ComponentItem::ComponentInstance(interface) => interface
                .exports(&self.engine)
                .any(|(_, part)| !matches!(part.ty, ComponentItem::Type(_) | ComponentItem::Resource(_))),
            _ => true,
        };
        let ty = code.0.component_type();
        ty.imports(&self.engine).filter(|(_, item)| asks(&item.ty)).map(|(name, _)| name.to_owned()).collect()
    }

    /// Connects code with what the host offers. Fails if it asks for more.
    pub fn ready(&self, code: Code) -> Result<Compiled, Failure> {
        self.link(code.0).map_err(unfit)
    }

    fn link(&self, component: Component) -> Result<Compiled> {
        let instance = self.linker_for(&component)?.instantiate_pre(&component)?;
        let tools = plugin::PluginPre::new(instance.clone()).ok();
        let wasmcp = || Wasmcp::of(&self.engine, &component, instance.clone());
        let (wasmcp, typed) = match (&tools, tools.is_none().then(wasmcp).flatten()) {
            (Some(_), _) => (None, Err("It describes itself.".to_owned())),
            (None, Some(Ok(wasmcp))) => (Some(Arc::new(wasmcp)), Err("It lists its tools.".to_owned())),
            (None, Some(Err(why))) => (None, Err(why)),
            (None, None) => (None, Typed::of(&self.engine, &component, instance.clone()).map(Arc::new)),
        };
        Ok(Compiled {
            tools,
            wasmcp,
            typed,
            resources: resources::PluginResourcesPre::new(instance.clone()).ok(),
            prompts: prompts::PluginPromptsPre::new(instance.clone()).ok(),
            completions: completions::PluginCompletionsPre::new(instance.clone()).ok(),
            parts: parts::PluginPartsPre::new(instance.clone()).ok(),
            archive: archive::ArchiveDriverPre::new(instance).ok(),
        })
    }

    /// What the component is linked with. Some things are never given, but imported whether they are used or not; for a plugin that
    /// was admitted in spite of that, each function there ends the call.
    fn linker_for(&self, component: &Component) -> Result<Cow<'_, Linker<Guest>>> {
        let http = component.component_type().imports(&self.engine).any(|(name, _)| name.starts_with("wasi:http/"));
        let stubbed = stubs::are_imported(&self.engine, component);
        if !stubbed && !http {
            return Ok(Cow::Borrowed(&self.linker));
        }
        let mut linker = self.linker.clone();
        if http {
            // Only here: who does not import it does not pay for it, and could not get at it by any mistake of ours.
            imports::http::add_to_linker(&mut linker)?;
        }
        if stubbed {
            stubs::link(&mut linker, &self.engine, component)?;
        }
        Ok(Cow::Owned(linker))
    }

    /// Tells code apart that was made with other settings: part of the name of a cache file.
    pub fn compatibility(&self) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

/// Whether code can be run where it lies in the binary. Elsewhere the instruction cache needs care that wasmtime takes only for
/// memory that it maps itself, so there the code is copied, which costs a millisecond for each megabyte.
pub(super) const RUNS_IN_PLACE: bool = cfg!(target_arch = "x86_64");

/// Makes pages executable, wherever they are. Needed to run code in place in the binary, which wasmtime did not map itself.
pub(super) struct CodePages;

/// Of x86-64, the only machine on which code is run in place.
const PAGE: usize = 4096;

impl CustomCodeMemory for CodePages {
    fn required_alignment(&self) -> usize {
        PAGE
    }

    fn publish_executable(&self, ptr: *const u8, len: usize) -> Result<()> {
        protect(ptr, len, rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::EXEC)
    }

    fn unpublish_executable(&self, ptr: *const u8, len: usize) -> Result<()> {
        protect(ptr, len, rustix::mm::MprotectFlags::READ)
    }
}

fn protect(ptr: *const u8, len: usize, flags: rustix::mm::MprotectFlags) -> Result<()> {
    // SAFETY: wasmtime hands us whole pages of a code image that it owns or that is a static of ours; nobody writes to them.
    unsafe { rustix::mm::mprotect(ptr.cast_mut().cast(), len, flags)? };
    Ok(())
}
