//! The components that are part of the binary: built, compiled and embedded by the build script.

use std::sync::Arc;

use super::manifest::Manifest;
use crate::failure::Failure;
use crate::sandbox::{Compiled, Sandbox};

/// One embedded component.
pub struct Bundled {
    pub name: &'static str,
    /// SHA-256 of the component.
    pub digest: &'static str,
    pub manifest: &'static str,
    /// The component itself, for machines that its code does not fit.
    pub wasm: &'static [u8],
    /// Its code, at a page boundary.
    pub code: &'static [u8],
}

/// A boundary that code can be made executable at.
#[repr(C, align(65536))]
struct Pages<T: ?Sized>(T);

include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

impl Bundled {
    pub fn load(&self, sandbox: &Sandbox) -> Result<Arc<Compiled>, Failure> {
        let compiled = sandbox
            .load_embedded(self.code, self.wasm)
            .map_err(|error| Failure::internal(format!("The bundled component {} cannot be loaded: {error:#}.", self.name)))?;
        Ok(Arc::new(compiled))
    }

    pub fn manifest(&self) -> Result<Manifest, Failure> {
        Manifest::parse(self.manifest)
    }
}
