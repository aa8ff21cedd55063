//! What one address or pipe offers, and whom it serves.

use std::sync::Arc;

use rmcp::model::Implementation;

use crate::config::ToolNames;
use crate::failure::{Class, Failure};
use crate::plugins::{Plugin, Registry};

/// An endpoint: everything, or one plugin under its own identity.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The one plugin that is offered; `None` for all.
    pub only: Option<Arc<str>>,
    pub callers: Callers,
}

/// How an endpoint knows who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// It is the person who started this process.
    Local,
    /// Each request carries its principal. One that carries none is refused: it must never become the local user.
    Carried,
}

impl Endpoint {
    /// An endpoint for one plugin, or for all of them.
    pub fn new(only: Option<&str>, callers: Callers) -> Endpoint {
        Endpoint { only: only.map(Arc::from), callers }
    }

    pub fn offers(&self, plugin: &Plugin) -> bool {
        self.only.as_deref().is_none_or(|only| plugin.description.name == only)
    }

    /// One plugin alone is shown with its documented names: whoever asks for it knows them.
    pub fn names(&self, configured: ToolNames) -> ToolNames {
        if self.only.is_some() { ToolNames::Verbatim } else { configured }
    }

    /// Who the server says it is.
    pub fn identity(&self, registry: &Registry) -> Implementation {
        match registry.plugins.iter().find(|plugin| self.only.is_some() && self.offers(plugin)) {
            Some(plugin) => {
                let (name, version) = match &plugin.manifest.identity {
                    Some(identity) => (&identity.name, &identity.version),
                    None => (&plugin.description.name, &plugin.description.version),
                };
                let mut identity = Implementation::new(name.clone(), version.clone());
                identity.title = plugin.description.title.clone();
                identity
            }
            None => {
                let mut identity = Implementation::new("zipfs", env!("CARGO_PKG_VERSION"));
                identity.title = Some("zipfs".into());
                identity
            }
        }
    }

    /// Refuses to serve a plugin that is not there.
    pub fn check(&self, registry: &Registry) -> Result<(), Failure> {
        match &self.only {
            Some(only) if !registry.plugins.iter().any(|plugin| self.offers(plugin)) => {
                Err(Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no plugin {only:?}."))
                    .suggest("See them all: zipfs plugin list"))
            }
            _ => Ok(()),
        }
    }
}
