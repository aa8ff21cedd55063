//! Before the first run: what a component imports, whether that was asked for, and what it says about itself.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::anatomy::{Anatomy, dissect, with_manifest};
use super::cache::Cache;
use super::describe::{describe, describe_typed, describe_wasmcp};
use super::description::{Description, WorkspaceAccess};
use super::grants::{Given, Grant, GrantFile};
use super::manifest::{HttpAsk, Manifest, WorkspaceAsk};
use super::others;
use super::registry::Registry;
use super::signature::{Standing, required};
use super::source::{Fetched, Source, Wanted};
use super::store::{Record, Store, digest_of};
use crate::config::PluginSettings;
use crate::failure::{Class, Failure};
use crate::sandbox::compiled::Code;
use crate::sandbox::{Capability, Sandbox, wasmcp};

/// Interfaces of WASI that every guest may import. None of them reaches anything but the workspace.
const HARMLESS: [&str; 5] = ["wasi:io/", "wasi:filesystem/", "wasi:clocks/", "wasi:random/", "wasi:cli/"];

/// Our own interfaces that need no grant.
const FREE: [&str; 7] = ["types", "progress", "log", "client", "changes", "parallel", "grants"];

/// A plugin that was looked at and found fit. Nothing of it is kept before it is admitted.
pub struct Candidate {
    pub manifest: Manifest,
    pub description: Description,
    pub digest: String,
    /// What it imports of ours that has to be granted.
    pub needs: Vec<Capability>,
    pub anatomy: Anatomy,
    pub signed: Standing,
    pub source: String,
    signature: Option<String>,
    wasm: Vec<u8>,
    code: Code,
}

/// What plugins are admitted with.
pub struct Desk<'a> {
    pub sandbox: &'a Arc<Sandbox>,
    pub registry: Arc<Registry>,
    pub store: &'a Store,
    pub cache: &'a Cache,
    pub grants: &'a GrantFile,
    pub settings: &'a PluginSettings,
}

/// Reads a `.wasm` file, or a directory with `plugin.toml` and one `.wasm` file, and examines it.
pub async fn examine_ambient(path: &Path, sandbox: &Arc<Sandbox>, cache: &Cache) -> Result<Candidate, Failure> {
    let settings = PluginSettings::default();
    let wanted = Wanted { settings: &settings, digest: None, allow_http: false, watch: &|_, _| {} };
    examine(Source::Path(path.to_owned()).fetch_ambient(&wanted).await?, sandbox, cache).await
}

/// Examines a plugin: first what its bytes say, then what it says of itself, with no capability at all. What is wrong with it
/// before it was run keeps it from being compiled.
pub async fn examine(fetched: Fetched, sandbox: &Arc<Sandbox>, cache: &Cache) -> Result<Candidate, Failure> {
    let Fetched { wasm, manifest, signature, label, source } = fetched;
    // From here on one file is the whole plugin, so that its digest stands for what it asks for, too.
    let (wasm, anatomy, signed) = match manifest {
        None => {
            let anatomy = dissect(&wasm)?;
            let signed = cache.trust().keys.check(&wasm, &anatomy, signature.as_deref())?;
            (wasm, anatomy, signed)
        }
        // What is signed is the component, and not the plugin.toml that lies beside it: that is no signed plugin.
        Some(manifest) => {
            cache.trust().keys.check(&wasm, &dissect(&wasm)?, signature.as_deref())?;
            let packed = with_manifest(&wasm, &manifest)?;
            let anatomy = dissect(&packed)?;
            (packed, anatomy, Standing::Unsigned)
        }
    };
    if cache.trust().required && !signed.is_trusted() {
        return Err(required(&label, &signed));
    }
    let manifest = anatomy.manifest.as_deref().map(Manifest::parse).transpose()?;
    others::check(&anatomy)?;
    let needs = check_imports(&anatomy.imports, manifest.as_ref())?;
    let digest = digest_of(&wasm);
    let (wasm, code) = compile(wasm, sandbox).await?;
    // The compiler read the same bytes by itself. What it found and we did not see was not decided about.
    if let Some(unseen) = sandbox.imports(&code).into_iter().find(|name| anatomy.imports.binary_search(name).is_err()) {
        let message = format!("The component's imports cannot be read without doubt: the compiler found {unseen}.");
        return Err(Failure::new(Class::Forbidden, "PLUGIN_REFUSED", message));
    }
    let compiled = Arc::new(sandbox.ready(code.clone())?);
    let description = match &compiled.wasmcp {
        _ if compiled.describes_itself() => describe(sandbox, &compiled, &label).await?,
        Some(wasmcp) => describe_wasmcp(sandbox, (&compiled, wasmcp), &label, manifest.as_ref(), &anatomy.imports).await?,
        None => describe_typed(&compiled, &label, manifest.as_ref(), &anatomy.imports, &wasm)?,
    };
    let manifest = manifest.unwrap_or_else(|| implied(&description, &needs));
    check_against_manifest(&manifest, &description, &needs)?;
    Ok(Candidate { manifest, description, digest, needs, anatomy, signed, source, signature, wasm, code })
}

/// Seconds for a large component, so not on a thread that serves others.
async fn compile(wasm: Vec<u8>, sandbox: &Arc<Sandbox>) -> Result<(Vec<u8>, Code), Failure> {
    let sandbox = sandbox.clone();
    tokio::task::spawn_blocking(move || sandbox.compile(&wasm).map(|code| (wasm, code)))
        .await
        .map_err(|error| Failure::internal(format!("The compiler stopped: {error}.")))?
}

impl Candidate {
    /// Keeps the plugin with these grants, if its names are free. The grants come first, so that no call finds it without them;
    /// whatever the name was granted before is gone.
    pub fn admit(self, desk: &Desk<'_>, given: Vec<Given>, expires: Option<Timestamp>) -> Result<Description, Failure> {
        let record = self.record(None);
        let name = record.name();
        let added = desk.store.change(|change| {
            desk.cache.sweep(change);
            if change.has(name) {
                return Err(already_there(name));
            }
            // Others may have been added since the registry was read.
            desk.registry.reread(desk.store, desk.cache).check_clash(name, &record.description.tools)?;
            desk.grants.keep_only(name, &[])?;
            desk.grants.add(name, &record.digest, given, expires)?;
            desk.cache.keep_code(desk.sandbox, &self.code, &record.digest);
            change.put(&record, &self.wasm)
        });
        if added.is_err() && !desk.store.has(name, &record.digest) {
            // What is granted to nobody does no harm; it would only be in the way of whoever reads the file.
            let _ = desk.grants.change(|grants| {
                grants.retain(|grant| !grant.is_of(name, &record.digest));
                Ok(())
            });
        }
        added?;
        Ok(record.description)
    }

    /// Puts the plugin in the place of the version `before`, if that is still what is there. What that was granted and this one
    /// still asks for goes over to it; calls that run keep what they began with.
    pub fn replace(
        self,
        desk: &Desk<'_>,
        before: &Record,
        given: Vec<Given>,
        expires: Option<Timestamp>,
    ) -> Result<Record, Failure> {
        let record = self.record(Some(before));
        let name = record.name();
        desk.store.change(|change| {
            desk.cache.sweep(change);
            match change.find(name) {
                Some(Ok(now)) if now.digest == before.digest => {}
                _ => {
                    let message = format!("The plugin {name} was changed by somebody else in the meantime.");
                    return Err(Failure::new(Class::Conflict, "PLUGIN_CHANGED", message).suggest("Update it again."));
                }
            }
            let others = desk.registry.reread(desk.store, desk.cache).without(name);
            others.check_clash(name, &record.description.tools)?;
            self.hand_over(desk, before)?;
            desk.grants.add(name, &record.digest, given, expires)?;
            desk.cache.keep_code(desk.sandbox, &self.code, &record.digest);
            change.put(&record, &self.wasm)
        })?;
        // Only now, when the version that they were for is not there any more: a call of it that lost a grant would be ended.
        desk.grants.keep_only(name, &[&record.digest])?;
        Ok(record)
    }

    /// The grants of the version before that this one asks for, too.
    pub fn inherited(&self, desk: &Desk<'_>, before: &Record) -> Result<Vec<Grant>, Failure> {
        let now = Timestamp::now();
        let fits = |grant: &Grant| {
            grant.is_of(before.name(), &before.digest) && !grant.is_expired(now) && self.manifest.asks_for_given(&grant.given)
        };
        Ok(desk.grants.read()?.into_iter().filter(fits).collect())
    }

    fn hand_over(&self, desk: &Desk<'_>, before: &Record) -> Result<(), Failure> {
        let inherited = self.inherited(desk, before)?;
        desk.grants.change(|grants| {
            // What a try that did not come to its end left.
            grants.retain(|grant| !grant.is_of(before.name(), &self.digest) || self.digest == before.digest);
            grants.extend(inherited.into_iter().map(|grant| Grant { digest: self.digest.clone(), ..grant }));
            Ok(())
        })
    }

    /// What is written down of it.
    pub fn record(&self, before: Option<&Record>) -> Record {
        let now = super::grants::file::now().to_string();
        Record {
            digest: self.digest.clone(),
            manifest: self.manifest.clone(),
            description: self.description.clone(),
            imports: self.anatomy.imports.clone(),
            exports: self.anatomy.exports.clone(),
            source: self.source.clone(),
            signed: self.signed.clone(),
            signature: self.signature.clone(),
            added_at: before.map_or_else(|| now.clone(), |before| before.added_at.clone()),
            updated_at: before.map(|_| now),
        }
    }
}

pub fn already_there(name: &str) -> Failure {
    Failure::new(Class::Conflict, "PLUGIN_EXISTS", format!("A plugin named {name} is already there.")).suggest(format!(
        "Give it a newer version: zipfs plugin update {name} --from SOURCE, or remove it: zipfs plugin remove {name}"
    ))
}

/// Every import must be harmless, free, a capability that can be granted, or one that the plugin says it does not need. Returns
/// those that have to be granted.
fn check_imports(imports: &[String], manifest: Option<&Manifest>) -> Result<Vec<Capability>, Failure> {
    let mut needs = Vec::new();
    for name in imports {
        if manifest.is_some_and(|manifest| manifest.runs_without(name)) {
            continue;
        }
        if HARMLESS.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        if wasmcp::is_talk(name) {
            continue;
        }
        let ours = name.strip_prefix("zipfs:plugin/").map(|rest| rest.split('@').next().unwrap_or(rest));
        match ours {
            Some(interface) if FREE.contains(&interface) => {}
            _ if Capability::behind_import(name).is_some() => needs.extend(Capability::behind_import(name)),
            _ => {
                return Err(Failure::new(
                    Class::Forbidden,
                    "PLUGIN_REFUSED",
                    format!("The component imports {name}, which no plugin is given."),
                )
                .suggest(others::instead_of(name)));
            }
        }
    }
    Ok(needs)
}

fn check_against_manifest(manifest: &Manifest, description: &Description, needs: &[Capability]) -> Result<(), Failure> {
    let refused = |why: String| Failure::new(Class::Forbidden, "PLUGIN_REFUSED", why);
    if manifest.name != description.name {
        return Err(refused(format!(
            "plugin.toml names the plugin {}, the component calls itself {}.",
            manifest.name, description.name
        )));
    }
    for capability in needs {
        if !manifest.asks_for(*capability) {
            return Err(refused(format!("The component imports `{}`, which plugin.toml does not ask for.", capability.name())));
        }
    }
    for tool in &description.tools {
        if tool.access.workspace > manifest.workspace.access {
            return Err(refused(format!("The tool {} wants more of the workspace than plugin.toml asks for.", tool.name)));
        }
        if let Some(capability) = tool.access.capabilities.iter().find(|&&capability| !manifest.asks_for(capability)) {
            return Err(refused(format!(
                "The tool {} declares `{}`, which plugin.toml does not ask for.",
                tool.name,
                capability.name()
            )));
        }
    }
    Ok(())
}

/// The manifest of a component that comes without one: what it imports and what its tools declare.
fn implied(description: &Description, needs: &[Capability]) -> Manifest {
    let access = description.tools.iter().map(|tool| tool.access.workspace).max().unwrap_or(WorkspaceAccess::None);
    let declared = description.tools.iter().flat_map(|tool| &tool.access.capabilities);
    let mut manifest = Manifest::plain(&description.name, &description.version);
    manifest.description = description.title.clone().unwrap_or_default();
    manifest.workspace = WorkspaceAsk { access, why: String::new() };
    for capability in needs.iter().chain(declared) {
        match capability {
            Capability::Files | Capability::Sessions => {
                manifest.capabilities.insert(*capability, String::new());
            }
            // To which hosts, only the person who grants can say.
            Capability::Http if manifest.http.is_empty() => manifest.http.push(HttpAsk::open()),
            // These have names, which only a manifest gives.
            _ => {}
        }
    }
    manifest
}
