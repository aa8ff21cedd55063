//! The gate itself: what it holds, and how a tool is found while plugins come and go.

use std::sync::{Arc, OnceLock, RwLock};

use tokio::sync::broadcast;

use super::authorise;
use super::calls::Refusal;
use super::principal::Principal;
use super::turns::Turns;
use super::watch::Grants;
use crate::audit::{Log, Summary};
use crate::config::{Config, WRITABLE_BY_OTHERS, check_private};
use crate::failure::Failure;
use crate::observe::{Observer, State};
use crate::plugins::admission::Desk;
use crate::plugins::bundled::BUNDLED;
use crate::plugins::cache::Cache;
use crate::plugins::grants::GrantFile;
use crate::plugins::incoming::Incoming;
use crate::plugins::secrets::Secrets;
use crate::plugins::signature::Trust;
use crate::plugins::store::Store;
use crate::plugins::{Found, Plugin, Registry};
use crate::sandbox::archives::SessionHost;
use crate::sandbox::driver::Driver;
use crate::sandbox::egress::Network;
use crate::sandbox::guest::Change;
use crate::sandbox::witness::Witness;
use crate::sandbox::{Sandbox, Shape};
use crate::workspace::reach::Reach;
use crate::workspace::{Owner, Workspaces};

/// Changes that wait to be told. Whoever falls behind is told that everything may have changed.
const CHANGES_KEPT: usize = 64;

/// Everything that calls need.
pub struct Gate {
    pub config: Arc<Config>,
    pub sandbox: Arc<Sandbox>,
    pub store: Store,
    pub cache: Cache,
    pub audit: Arc<Log>,
    /// Requests that a transport turned away before they were calls.
    pub refusals: Arc<Summary>,
    pub observer: Arc<Observer>,
    /// What guests say about what their plugins offer.
    pub changes: broadcast::Sender<(Arc<str>, Change)>,
    pub grants: Grants,
    pub secrets: Secrets,
    /// What plugins that were granted it ask the network through.
    pub(super) network: Arc<Network>,
    registry: RwLock<Arc<Registry>>,
    pub(super) sessions: Arc<SessionHost>,
    pub(super) turns: Arc<Turns>,
    /// Who takes notes of what guests reach for. Set by an author's workbench, and by nobody who serves.
    pub witness: OnceLock<Arc<Witness>>,
}

impl Gate {
    /// Opens the gate: reads what plugins there are. No guest is compiled, and none is run unless its description is new.
    pub async fn open(config: Config, shape: Shape) -> Result<Arc<Gate>, Failure> {
        config.data.secure()?;
        let config = Arc::new(config);
        let audit = Log::new(config.audit_directory(), config.settings.audit.clone());
        check_private(audit.directory(), WRITABLE_BY_OTHERS)?;
        let sandbox = Sandbox::new(shape, &config.settings.calls)
            .map_err(|error| Failure::internal(format!("The sandbox cannot be made: {error:#}.")))?;
        let sandbox = Arc::new(sandbox);
        let trust = Arc::new(Trust::of(&config.settings.plugins)?);
        let (store, cache) = (Store::new(&config.data), Cache::new(&config.data, trust));
        let network = Arc::new(Network::new(config.settings.egress.clone()));
        let (grants, secrets) = (Grants::new(GrantFile::new(&config.data), store.clone()), Secrets::new(&config.data));
        let registry = Registry::load(&sandbox, &store, &cache, None).await?;
        let settings = Arc::new(config.settings.clone());
        let workspaces = Arc::new(Workspaces::open_ambient(&config.data.workspaces(), settings)?);
        let sessions = Arc::new(SessionHost { workspaces, driver: driver_on_demand(sandbox.clone(), cache.clone()) });
        let (changes, observer) = (broadcast::channel(CHANGES_KEPT).0, Arc::default());
        Ok(Arc::new(Gate {
            config,
            sandbox,
            store,
            cache,
            refusals: Arc::new(Summary::new(audit.clone())),
            audit,
            observer,
            changes,
            grants,
            secrets,
            network,
            registry: RwLock::new(Arc::new(registry)),
            sessions,
            turns: Arc::default(),
            witness: OnceLock::new(),
        }))
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub fn workspaces(&self) -> &Arc<Workspaces> {
        &self.sessions.workspaces
    }

    /// On whose behalf sessions are used.
    pub(super) fn owner(&self, principal: &Principal) -> Owner {
        let mut owner = principal.owner();
        if !principal.is_remote()
            && let Some(roots) = &self.config.settings.security.open_roots
        {
            owner.reach = Reach::Within(roots.as_slice().into());
        }
        owner
    }

    /// Reads the plugins again if any was added or removed.
    pub async fn refresh(&self) {
        let before = self.registry();
        if self.store.stamp() == before.made_from {
            return;
        }
        match Registry::load(&self.sandbox, &self.store, &self.cache, Some(&before)).await {
            Ok(registry) => {
                *self.registry.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Arc::new(registry);
            }
            Err(failure) => {
                tracing::error!(%failure, "plugins cannot be read again; going on with those that are loaded");
            }
        }
    }

    /// The tool of that name. What the endpoint does not offer or the caller may not know of is as unknown as what does not exist.
    ///
    /// Whether plugins came, changed or went is looked at each time, which is one `stat`: once the command that removed a plugin is
    /// over, nobody calls that plugin any more.
    pub(super) async fn find(&self, name: &str, only: Option<&str>, principal: &Principal) -> Result<Found, Refusal> {
        self.refresh().await;
        self.registry()
            .find(name)
            .filter(|found| only.is_none_or(|only| found.plugin.description.name == only))
            .filter(|found| authorise::may_know(&self.config.settings.policy, principal, found))
            .ok_or_else(|| Refusal::UnknownTool(name.to_owned()))
    }

    /// Whether a tool belongs into the list that the caller is shown.
    pub fn shows(&self, principal: &Principal, found: &Found) -> bool {
        authorise::may_use(&self.config.settings.policy, principal, found)
    }

    /// The numbers of this process, in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        let sessions = self.workspaces().known().map_or(0, |known| known.len());
        self.observer.meters.render(&State { sessions, running: self.sandbox.running() })
    }

    /// Loads the code of a plugin. It may have to be compiled, which takes seconds: that is not done on a thread that serves
    /// others, and not while a session is locked. Test: `functional::plugins::hot::code_is_compiled_before_the_session_is_locked`.
    pub(super) async fn prepare(&self, plugin: &Arc<Plugin>) -> Result<(), Failure> {
        if plugin.is_ready() {
            return Ok(());
        }
        let (plugin, sandbox, cache) = (plugin.clone(), self.sandbox.clone(), self.cache.clone());
        tokio::task::spawn_blocking(move || plugin.compiled(&sandbox, &cache).map(|_| ()))
            .await
            .map_err(|error| Failure::internal(format!("The compiler stopped: {error}.")))?
    }

    /// What plugins are admitted with.
    pub fn desk(&self) -> Desk<'_> {
        Desk {
            sandbox: &self.sandbox,
            registry: self.registry(),
            store: &self.store,
            cache: &self.cache,
            grants: self.grants.file(),
            settings: &self.config.settings.plugins,
        }
    }

    /// Takes up plugins that were put into `plugins/incoming`. For servers, now and then.
    pub async fn take_up_incoming(&self) {
        if self.config.settings.plugins.take_up_incoming
            && Incoming::new(&self.config.data).take_up(&self.desk(), &self.audit).await
        {
            self.refresh().await;
        }
    }

    /// The driver for archives, loaded now if it was not yet.
    pub fn driver(&self) -> Result<Arc<Driver>, Failure> {
        (self.sessions.driver)()
    }
}

/// Most calls never need the driver; one-shot commands such as `ls` should not pay for loading it.
fn driver_on_demand(sandbox: Arc<Sandbox>, cache: Cache) -> Box<dyn Fn() -> Result<Arc<Driver>, Failure> + Send + Sync> {
    let loaded = OnceLock::new();
    Box::new(move || {
        if let Some(driver) = loaded.get() {
            return Ok(Arc::clone(driver));
        }
        let bundled = BUNDLED.iter().find(|bundled| bundled.name == "archive-zip");
        let bundled = bundled.ok_or_else(|| Failure::internal("The archive driver is not in this binary."))?;
        let driver = Arc::new(Driver::new(sandbox.clone(), bundled.load(&sandbox, &cache)?));
        Ok(loaded.get_or_init(|| driver).clone())
    })
}
