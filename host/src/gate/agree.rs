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
    /// The grants behind them, and those for the whole plugin: limits, and a root.
    pub grants: Vec<Grant>,
}

impl Agreed {
    /// Whether the call works on a directory of the plugin's instead of a session.
    pub fn is_bound(&self) -> bool {
        self.grants.iter().any(|grant| matches!(grant.given, Given::Root { .. }))
    }
}

impl Gate {
    pub(super) fn agree(&self, found: &Found) -> Result<Agreed, Failure> {
        let (plugin, declared) = (&found.plugin, &found.tool().access.capabilities);
        let manifest = &plugin.manifest;
        // Most tools end here: they declare nothing, and no file is looked at for them.
        let for_all = manifest.limits.is_some() || manifest.root.is_some();
        if declared.is_empty() && !for_all {
            return Ok(Agreed::default());
        }
        // The binary's own components were given these two with it.
        let comes_with_it = |capability: Capability| {
            matches!(plugin.origin, Origin::Bundled(_)) && matches!(capability, Capability::Files | Capability::Sessions)
        };
        let asked: Vec<Capability> = declared.iter().copied().filter(|&capability| manifest.asks_for(capability)).collect();
        if !for_all && asked.iter().all(|&capability| comes_with_it(capability)) {
            return Ok(Agreed { capabilities: asked, grants: Vec::new() });
        }
        let grants: Vec<Grant> = self
            .grants
            .of(plugin)?
            .into_iter()
            .filter(|grant| match &grant.given {
                Given::Limits { .. } => manifest.limits.is_some(),
                Given::Root { .. } => manifest.root.is_some(),
                given => given.capability().is_some_and(|capability| asked.contains(&capability)) && manifest.asks_for_given(given),
            })
            .collect();
        let is_granted = |capability: Capability| grants.iter().any(|grant| grant.given.capability() == Some(capability));
        let capabilities = asked.into_iter().filter(|&capability| comes_with_it(capability) || is_granted(capability)).collect();
        Ok(Agreed { capabilities, grants })
    }
}
