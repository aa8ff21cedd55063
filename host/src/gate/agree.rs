//! What a call may use beyond its workspace: what the manifest asks for, a person granted, and this tool declares.

use super::open::Gate;
use crate::failure::Failure;
use crate::plugins::Found;
use crate::plugins::grants::{Given, Grant};
use crate::plugins::plugin::Origin;
use crate::sandbox::Capability;

/// What all three agree on.
#[derive(Default)]
pub(super) struct Agreed {
    pub capabilities: Vec<Capability>,
    /// The grants behind them, and those for the whole plugin: limits.
    pub grants: Vec<Grant>,
}

impl Gate {
    pub(super) fn agree(&self, found: &Found) -> Result<Agreed, Failure> {
        let (plugin, declared) = (&found.plugin, &found.tool().access.capabilities);
        let manifest = &plugin.manifest;
        // Most tools end here: they declare nothing, and no file is looked at for them.
        if declared.is_empty() && manifest.limits.is_none() {
            return Ok(Agreed::default());
        }
        // The binary's own components were given these two with it.
        let comes_with_it = |capability: Capability| {
            matches!(plugin.origin, Origin::Bundled(_)) && matches!(capability, Capability::Files | Capability::Sessions)
        };
        let asked: Vec<Capability> = declared.iter().copied().filter(|&capability| manifest.asks_for(capability)).collect();
        if manifest.limits.is_none() && asked.iter().all(|&capability| comes_with_it(capability)) {
            return Ok(Agreed { capabilities: asked, grants: Vec::new() });
        }
        let grants: Vec<Grant> = self
            .grants
            .of(plugin)?
            .into_iter()
            .filter(|grant| match &grant.given {
                Given::Limits { .. } => manifest.limits.is_some(),
                // A plugin is bound to it instead of a session; that is decided elsewhere.
                Given::Root { .. } => false,
                given => given.capability().is_some_and(|capability| asked.contains(&capability)) && manifest.asks_for_given(given),
            })
            .collect();
        let is_granted = |capability: Capability| grants.iter().any(|grant| grant.given.capability() == Some(capability));
        let capabilities = asked.into_iter().filter(|&capability| comes_with_it(capability) || is_granted(capability)).collect();
        Ok(Agreed { capabilities, grants })
    }
}
