//! Turning a call away before its transport has begun to answer, where the transport has words of its own for that.

use serde_json::{Map, Value};

use super::calls::Refusal;
use super::open::Gate;
use super::origin::Origin;
use super::principal::Principal;
use super::{authorise, reading};
use crate::failure::{Class, Failure};

impl Gate {
    /// The refusal that a call of a tool would end with for want of a role or a scope, written down like any other. Nothing is
    /// said about calls that would fail for other reasons, and those that are let through here are checked again.
    pub async fn forbids(
        &self,
        principal: &Principal,
        origin: &Origin,
        only: Option<&str>,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Option<Failure> {
        let found = match self.find(tool, only, principal).await {
            Ok(found) => found,
            Err(Refusal::UnknownTool(_) | Refusal::Failed { .. }) => return None,
        };
        let refused = authorise::may_call(&self.config.settings.policy, principal, &found, arguments).err();
        let refused = refused.filter(|failure| failure.class == Class::Forbidden)?;
        let entry = self.record(principal, origin, "call", tool).ok()?.with_arguments(arguments);
        Some(entry.refuse(&found, arguments, refused))
    }

    /// The same for reading a resource.
    pub fn forbids_reading(&self, principal: &Principal, origin: &Origin, uri: &str) -> Option<Failure> {
        let refused = reading::may_read(principal, uri).err()?;
        match self.record(principal, origin, "read", "resources/read") {
            Ok(entry) => entry.end_read::<()>(Err(refused)).err(),
            Err(failure) => Some(failure),
        }
    }

    /// The tool that answers a method of JSON-RPC, if one of the plugins that are offered has it. The first that has it wins.
    pub async fn tool_of_method(&self, method: &str, only: Option<&str>) -> Option<String> {
        if let Some(tool) = self.offered_method(method, only) {
            return Some(tool);
        }
        // It may be of a plugin that was just added.
        self.refresh().await;
        self.offered_method(method, only)
    }

    fn offered_method(&self, method: &str, only: Option<&str>) -> Option<String> {
        let registry = self.registry();
        let offered = registry.plugins.iter().filter(|plugin| only.is_none_or(|only| plugin.description.name == only));
        // By the plugin's own tools only: a manifest must not give a method to somebody else's.
        offered.into_iter().find_map(|plugin| {
            let tool = plugin.manifest.methods.get(method)?;
            plugin.description.tools.iter().any(|own| own.name == *tool).then(|| tool.clone())
        })
    }
}
