//! A directory of the host that a plugin works on instead of a session, because a person granted it.

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use super::open::Gate;
use crate::config::Config;
use crate::failure::{Class, Failure};
use crate::plugins::grants::{Given, Grant};
use crate::plugins::manifest::RootAsk;
use crate::plugins::places;
use crate::plugins::{Plugin, Registry, WorkspaceAccess};
use crate::sandbox::Mount;
use crate::workspace::quota::Allowance;

/// The directory, and the most that anybody does with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Root {
    path: PathBuf,
    access: WorkspaceAccess,
    /// Whether it may be made: the person named a variable, not a directory that exists.
    is_made: bool,
}

impl Gate {
    /// The directory that a plugin is bound to, if one is among its grants.
    pub(super) fn root(&self, plugin: &Plugin, grants: &[Grant]) -> Result<Option<Root>, Failure> {
        match &plugin.manifest.root {
            None => Ok(None),
            Some(ask) => root_among(ask, grants, &plugin.description.name, &self.config),
        }
    }

    /// Makes sure of the directory of a plugin that is served alone, so that whoever starts it hears at once if it cannot be used.
    pub fn prepare_root(&self, plugin: &str) -> Result<(), Failure> {
        let registry = self.registry();
        let Some(plugin) = registry.plugins.iter().find(|known| known.description.name == plugin) else { return Ok(()) };
        match self.root(plugin, &self.grants.of(plugin)?)? {
            Some(root) => self.mount_root(&root, WorkspaceAccess::Read).map(drop),
            None => Ok(()),
        }
    }

    /// The plugins of a registry that work on a directory of their own.
    pub fn bound(&self, registry: &Registry) -> Vec<String> {
        let bound = registry.plugins.iter().filter(|plugin| self.is_bound(plugin));
        bound.map(|plugin| plugin.description.name.clone()).collect()
    }

    /// Whether it is bound to one now. If that cannot be told, its calls will say why.
    pub fn is_bound(&self, plugin: &Plugin) -> bool {
        plugin.manifest.root.is_some()
            && self.grants.of(plugin).is_ok_and(|grants| grants.iter().any(|grant| matches!(grant.given, Given::Root { .. })))
    }

    /// Opens the directory for a call, as far as its tool needs it.
    pub(super) fn mount_root(&self, root: &Root, level: WorkspaceAccess) -> Result<Mount, Failure> {
        let shown = root.path.display();
        let failed = |error: std::io::Error| {
            Failure::internal(format!("The directory {shown} cannot be made: {error}."))
                .suggest("Who runs this host has to see to it that it is there and can be read.")
        };
        if root.is_made {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&root.path).map_err(failed)?;
        }
        // Whoever may read the host's own could read the key that signs tokens; whoever may write it, grant themselves anything.
        let dir = places::open_ambient(&root.path, self.config.data.root())?;
        if level.min(root.access) != WorkspaceAccess::Write {
            return Ok(Mount::read_only(dir));
        }
        // There is no account of what a user's directory may hold, only of what one call may add.
        let calls = &self.config.settings.calls;
        Ok(Mount::writable(dir, None, Allowance::fixed(calls.directory_bytes, calls.directory_files)))
    }
}

/// Where a plugin's own directory is, if that can be told.
pub(super) fn path(plugin: &Plugin, grants: &[Grant], config: &Config) -> Option<PathBuf> {
    let ask = plugin.manifest.root.as_ref()?;
    root_among(ask, grants, &plugin.description.name, config).ok().flatten().map(|root| root.path)
}

/// The directory of a grant. One without a directory leaves it to the variable that the manifest names.
fn root_among(ask: &RootAsk, grants: &[Grant], plugin: &str, config: &Config) -> Result<Option<Root>, Failure> {
    let granted = grants.iter().find_map(|grant| match &grant.given {
        Given::Root { path, access } => Some((path, *access)),
        _ => None,
    });
    let Some((path, access)) = granted else { return Ok(None) };
    let access = WorkspaceAccess::from(access.min(ask.access));
    let root = |path: PathBuf, is_made: bool| Some(Root { path, access, is_made });
    if let Some(path) = path {
        return Ok(root(path.clone(), false));
    }
    let variable = ask.setting.as_deref().and_then(|name| config.variable(name)).filter(|value| !value.is_empty());
    if let Some(value) = variable {
        let path = std::path::absolute(PathBuf::from(value))
            .map_err(|error| Failure::invalid(format!("The directory for the plugin {plugin} is not usable: {error}.")))?;
        return Ok(root(path, true));
    }
    if let Some(path) = ask.default.as_deref().and_then(|text| in_home(text, config)) {
        return Ok(root(path, true));
    }
    let named = ask.setting.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
    Err(Failure::new(Class::Forbidden, "ROOT_NOT_SET", format!("No directory is set for the plugin {plugin}{named}."))
        .suggest(format!("Set it, or grant one: zipfs plugin grant {plugin} root=/PATH")))
}

/// `~/x` in the home of whoever runs the host.
fn in_home(text: &str, config: &Config) -> Option<PathBuf> {
    match text.strip_prefix("~/") {
        Some(below) => Some(PathBuf::from(config.variable("HOME").filter(|home| !home.is_empty())?).join(below)),
        None => Some(PathBuf::from(text)).filter(|path| path.is_absolute()),
    }
}
