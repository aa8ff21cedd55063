//! Before the first run: what a component imports, whether that was asked for, and what it says about itself.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::describe::{describe, describe_typed};
use super::description::{Description, WorkspaceAccess};
use super::grants::{Given, GrantFile};
use super::manifest::{HttpAsk, Manifest, WorkspaceAsk};
use super::registry::Registry;
use super::store::{Cache, Record, Store, digest_of};
use crate::author::project::component_in;
use crate::failure::{Class, Failure};
use crate::sandbox::{Capability, Compiled, Sandbox};

/// Larger components are refused unread. Cranelift takes seconds for each megabyte.
const MOST_COMPONENT: u64 = 64 << 20;

/// Interfaces of WASI that every guest may import. None of them reaches anything but the workspace.
const HARMLESS: [&str; 5] = ["wasi:io/", "wasi:filesystem/", "wasi:clocks/", "wasi:random/", "wasi:cli/"];

/// Our own interfaces that need no grant.
const FREE: [&str; 7] = ["types", "progress", "log", "client", "changes", "parallel", "grants"];

/// A plugin that was looked at and found fit.
pub struct Candidate {
    pub manifest: Manifest,
    pub description: Description,
    pub digest: String,
    /// What it imports of ours that has to be granted.
    pub needs: Vec<Capability>,
    wasm: Vec<u8>,
}

/// Reads a `.wasm` file, or a directory with `plugin.toml` and one `.wasm` file, and examines it. Nothing is kept
/// but its compiled code, in the cache.
pub async fn examine_ambient(path: &Path, sandbox: &Sandbox, cache: &Cache) -> Result<Candidate, Failure> {
    let (wasm_path, manifest) = locate(path)?;
    let size = std::fs::metadata(&wasm_path).map_err(|error| not_readable(&wasm_path, &error))?.len();
    if size > MOST_COMPONENT {
        return Err(Failure::limit(format!("{} has {size} bytes; at most {MOST_COMPONENT} are taken.", wasm_path.display())));
    }
    let wasm = std::fs::read(&wasm_path).map_err(|error| not_readable(&wasm_path, &error))?;
    let digest = digest_of(&wasm);
    let code = sandbox.compile(&wasm)?;
    let imports = sandbox.imports(&code);
    let needs = check_imports(&imports, manifest.as_ref())?;
    let compiled: Arc<Compiled> = cache.keep_code(sandbox, code, &digest)?;
    let label = wasm_path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("plugin").to_owned();
    let description = match compiled.describes_itself() {
        true => describe(sandbox, &compiled, &label).await?,
        false => describe_typed(&compiled, &label, manifest.as_ref(), &imports, &wasm)?,
    };
    let manifest = manifest.unwrap_or_else(|| implied(&description, &needs));
    check_against_manifest(&manifest, &description, &needs)?;
    Ok(Candidate { manifest, description, digest, needs, wasm })
}

impl Candidate {
    /// Keeps the plugin with these grants, if its names are free. The grants come first, so that no call finds it without them;
    /// whatever the name was granted before is gone.
    pub fn admit(
        self,
        registry: &Registry,
        store: &Store,
        grants: &GrantFile,
        given: Vec<Given>,
        expires: Option<Timestamp>,
    ) -> Result<Description, Failure> {
        registry.check_clash(&self.description.name, &self.description.tools)?;
        let name = self.description.name.clone();
        grants.keep_only(&name, &[])?;
        grants.add(&name, &self.digest, given, expires)?;
        let record = Record { digest: self.digest, description: self.description };
        let added = store.add(&self.manifest, &record, &self.wasm);
        if added.is_err() && !store.has(&name, &record.digest) {
            grants.keep_only(&name, &[])?;
        }
        added?;
        Ok(record.description)
    }
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
                .suggest(match name.starts_with("wasi:sockets/") {
                    true => {
                        "If only the runtime of its language brings that along, say so in plugin.toml: without = [\"wasi:sockets\"]"
                    }
                    false => "Build it without what needs that: sockets, processes and threads are not there.",
                }));
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

fn locate(path: &Path) -> Result<(std::path::PathBuf, Option<Manifest>), Failure> {
    if !path.is_dir() {
        return Ok((path.to_owned(), None));
    }
    let manifest_path = path.join("plugin.toml");
    let text = std::fs::read_to_string(&manifest_path).map_err(|error| not_readable(&manifest_path, &error))?;
    Ok((component_in(path)?, Some(Manifest::parse(&text)?)))
}

fn not_readable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("{} cannot be read: {error}.", path.display()))
}
