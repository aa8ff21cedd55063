//! What remote principals are not told: where things are on the host. Failures are worded for whoever runs it; before they go to
//! somebody else, every directory that the host could have spoken of gets a name.

use std::path::PathBuf;
use std::sync::Arc;

use super::open::Gate;
use super::principal::Principal;
use super::root;
use super::watch::Grants;
use crate::config::Config;
use crate::failure::Failure;
use crate::plugins::Plugin;
use crate::plugins::grants::Given;
use crate::workspace::reach::Reach;

/// How one principal is spoken to.
#[derive(Clone)]
pub(super) struct Discretion {
    reach: Reach,
    config: Arc<Config>,
    grants: Grants,
    /// Whose tool it is about: its grants name directories too.
    plugin: Option<Arc<Plugin>>,
}

impl Gate {
    pub(super) fn discretion(&self, principal: &Principal) -> Discretion {
        let (reach, config) = (principal.open_roots.clone(), self.config.clone());
        Discretion { reach, config, grants: self.grants.clone(), plugin: None }
    }
}

impl Discretion {
    pub(super) fn about(&mut self, plugin: &Arc<Plugin>) {
        self.plugin = Some(plugin.clone());
    }

    /// The failure as the principal may read it.
    pub(super) fn tell(&self, failure: Failure) -> Failure {
        if !self.reach.hides_paths() {
            return failure;
        }
        let mut names = vec![
            (self.config.data.root().to_owned(), "(the server's data)"),
            (self.config.audit_directory(), "(the server's audit log)"),
        ];
        names.extend(self.granted().into_iter().map(|path| (path, "(a granted directory)")));
        self.reach.hide(&names, failure)
    }

    fn granted(&self) -> Vec<PathBuf> {
        let Some(plugin) = &self.plugin else { return Vec::new() };
        let grants = self.grants.of(plugin).unwrap_or_default();
        let mut paths: Vec<PathBuf> = root::path(plugin, &grants, &self.config).into_iter().collect();
        paths.extend(grants.into_iter().filter_map(|grant| match grant.given {
            Given::Directory { path, .. } => Some(path),
            Given::Endpoint { address, .. } => Some(address.into()),
            _ => None,
        }));
        paths.retain(|path| path.is_absolute());
        paths
    }
}
