//! Resources: what a client can read by its URI. Exported by `export!(… with resources)`.

use crate::bindings::plugin::zipfs::plugin::types;
use crate::bindings::resources::exports::zipfs::plugin::resources as contract;
use crate::{Error, ResourceContents};

pub use crate::bindings::resources::exports::zipfs::plugin::resources::{ResourceEntry, ResourceTemplate};

/// A plugin that has resources.
///
/// These functions run with the workspace read-only if some tool of the plugin works on the workspace and exactly one session
/// is open; otherwise there is no directory.
pub trait Resources {
    /// The resources there are now.
    fn list() -> Result<Vec<ResourceEntry>, Error>;

    /// The families of resources, as RFC 6570 templates.
    fn templates() -> Result<Vec<ResourceTemplate>, Error> {
        Ok(Vec::new())
    }

    /// Reads one. An unknown URI is an error of class not-found, never an empty list.
    fn read(uri: &str) -> Result<Vec<ResourceContents>, Error>;
}

/// Answers the host for a plugin.
#[doc(hidden)]
pub struct Answering<P>(P);

impl<P: Resources> contract::Guest for Answering<P> {
    fn list_resources() -> Result<Vec<ResourceEntry>, types::Error> {
        Ok(P::list()?)
    }

    fn list_templates() -> Result<Vec<ResourceTemplate>, types::Error> {
        Ok(P::templates()?)
    }

    fn read(uri: String) -> Result<Vec<ResourceContents>, types::Error> {
        Ok(P::read(&uri)?)
    }
}
