//! The union of what the loaded plugins offer, found by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admission::already_there;
use super::bundled::BUNDLED;
use super::cache::Cache;
use super::describe::describe;
use super::description::Tool;
use super::plugin::{Origin, Plugin};
use super::signature::required;
use super::store::{Stamp, Store};
use crate::failure::{Class, Failure};
use crate::sandbox::Sandbox;

/// The tools of all plugins. Never changed: when plugins come or go, another takes its place.
pub struct Registry {
    pub plugins: Vec<Arc<Plugin>>,
    /// By portable name, which also gives the order of `tools/list`.
    tools: BTreeMap<String, Found>,
    /// Documented names that are not portable, for callers who know those.
    verbatim: BTreeMap<String, String>,
    /// State of the store that this was made from.
    pub made_from: Option<Stamp>,
}

/// A tool and the plugin it belongs to.
#[derive(Clone)]
pub struct Found {
    pub plugin: Arc<Plugin>,
    pub index: usize,
}

impl Found {
    pub fn tool(&self) -> &Tool {
        self.plugin.tool(self.index)
    }
}

/// The component in the binary that is no plugin: the driver.
const DRIVER: &str = "archive-zip";

impl Registry {
    /// Reads what there is. Plugins that are the same as in `before` keep their code.
    pub async fn load(sandbox: &Sandbox, store: &Store, cache: &Cache, before: Option<&Registry>) -> Result<Registry, Failure> {
        // Looked at first: a change while we read makes us read again.
        let made_from = store.stamp();
        let mut plugins = Vec::new();
        for bundled in BUNDLED.iter().filter(|bundled| bundled.name != DRIVER) {
            if let Some(known) = before.and_then(|before| before.same(bundled.name, bundled.digest)) {
                plugins.push(known);
                continue;
            }
            let manifest = bundled.manifest()?;
            let description = match cache.description(bundled.digest) {
                Some(description) => description,
                None => {
                    let description = describe(sandbox, &bundled.load(sandbox, cache)?, bundled.name).await?;
                    cache.keep_description(bundled.digest, &description);
                    description
                }
            };
            plugins.push(Arc::new(Plugin::new(manifest, description, bundled.digest.into(), Origin::Bundled(bundled))));
        }
        plugins.extend(Registry::stored(store, cache, before));
        Ok(Registry::of(plugins, made_from))
    }

    /// The plugins that were added. What is required of signatures may have changed since.
    fn stored(store: &Store, cache: &Cache, before: Option<&Registry>) -> Vec<Arc<Plugin>> {
        let mut plugins = Vec::new();
        for record in store.load_all() {
            if !cache.trust().admits(&record.signed) {
                tracing::error!(plugin = record.name(), "left out a plugin: {}", required(record.name(), &record.signed));
                continue;
            }
            let known = before.and_then(|before| before.same(record.name(), &record.digest));
            plugins.push(match known.filter(|known| known.manifest == record.manifest) {
                Some(known) => known,
                None => {
                    let path = store.component(record.name(), &record.digest);
                    let origin = Origin::Stored { path, signature: record.signature };
                    Arc::new(Plugin::new(record.manifest, record.description, record.digest, origin))
                }
            });
        }
        plugins
    }

    /// What there is now, as far as names go: for whoever holds the store's lock, and is about to add one.
    pub fn reread(&self, store: &Store, cache: &Cache) -> Registry {
        let bundled = self.plugins.iter().filter(|plugin| matches!(plugin.origin, Origin::Bundled(_))).cloned();
        Registry::of(bundled.chain(Registry::stored(store, cache, Some(self))).collect(), None)
    }

    /// The same without one plugin, whose names are free then.
    pub fn without(&self, name: &str) -> Registry {
        Registry::of(self.plugins.iter().filter(|plugin| plugin.description.name != name).cloned().collect(), None)
    }

    /// A clash cannot come from `plugin add`, which refuses it; files put there by hand can clash, and then the first wins.
    fn of(plugins: Vec<Arc<Plugin>>, made_from: Option<Stamp>) -> Registry {
        let mut registry = Registry { plugins: Vec::new(), tools: BTreeMap::new(), verbatim: BTreeMap::new(), made_from };
        for plugin in plugins {
            if let Err(clash) = registry.check_clash(&plugin.description.name, &plugin.description.tools) {
                tracing::error!("left out a plugin: {clash}");
                continue;
            }
            for (index, tool) in plugin.description.tools.iter().enumerate() {
                let portable = tool.portable_name();
                if portable != tool.name {
                    registry.verbatim.insert(tool.name.clone(), portable.clone());
                }
                registry.tools.insert(portable, Found { plugin: plugin.clone(), index });
            }
            registry.plugins.push(plugin);
        }
        registry
    }

    /// Whether another plugin already has one of these names.
    pub fn check_clash(&self, name: &str, tools: &[Tool]) -> Result<(), Failure> {
        if self.plugins.iter().any(|plugin| plugin.description.name == name) {
            return Err(already_there(name));
        }
        for tool in tools {
            if let Some(found) = self.tools.get(&tool.portable_name()) {
                return Err(Failure::new(
                    Class::Conflict,
                    "NAME_CLASH",
                    format!("The plugins {} and {name} both have a tool {:?}.", found.plugin.description.name, tool.name),
                )
                .suggest("Only one of them can be used."));
            }
        }
        Ok(())
    }

    /// Finds a tool by its portable or its documented name.
    pub fn find(&self, name: &str) -> Option<Found> {
        self.tools.get(name).or_else(|| self.tools.get(self.verbatim.get(name)?)).cloned()
    }

    /// All tools with their portable names, in order.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &Found)> {
        self.tools.iter().map(|(name, found)| (name.as_str(), found))
    }

    fn same(&self, name: &str, digest: &str) -> Option<Arc<Plugin>> {
        self.plugins.iter().find(|plugin| plugin.description.name == name && plugin.digest == digest).cloned()
    }
}
