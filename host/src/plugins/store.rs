//! Where plugins and their compiled code are kept.
//!
//! ```text
//! plugins/<name>/          appears and vanishes by a rename, so it is there whole or not at all
//!   component.wasm
//!   plugin.toml
//!   record.json            digest and description, as they were when the plugin was admitted
//! cache/<digest>-<engine>.cwasm    compiled code; can be made again at any time
//! cache/<digest>.json              description of a bundled component
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::description::Description;
use super::manifest::Manifest;
use super::plugin::{Origin, Plugin};
use crate::config::DataDir;
use crate::failure::{Class, Failure};
use crate::sandbox::compiled::Code;
use crate::sandbox::{Compiled, Sandbox};
use crate::workspace::copy::hex;

const COMPONENT: &str = "component.wasm";
const MANIFEST: &str = "plugin.toml";
const RECORD: &str = "record.json";

/// What was found when a plugin was added.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub digest: String,
    pub description: Description,
}

/// The plugins of a data directory.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    pub fn new(data: &DataDir) -> Store {
        Store { root: data.plugins() }
    }

    /// When a plugin was last added or removed.
    pub fn changed(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.root).ok()?.modified().ok()
    }

    /// Every plugin, by name. One that cannot be read is left out, loudly: the others still work.
    pub fn load_all(&self) -> Vec<Plugin> {
        let Ok(entries) = std::fs::read_dir(&self.root) else { return Vec::new() };
        let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        let load = |name: String| match self.load(&name) {
            Ok(plugin) => Some(plugin),
            Err(error) => {
                tracing::error!(plugin = name, "left out a plugin that cannot be read: {error}");
                None
            }
        };
        names.into_iter().filter_map(load).collect()
    }

    /// Whether this very component is installed under this name.
    pub fn has(&self, name: &str, digest: &str) -> bool {
        digest == super::grants::BUNDLED || self.load(name).is_ok_and(|plugin| plugin.digest == digest)
    }

    fn load(&self, name: &str) -> Result<Plugin, Failure> {
        let directory = self.root.join(name);
        let unreadable = |error: io::Error| Failure::internal(format!("The plugin {name} cannot be read: {error}."));
        let manifest = Manifest::parse(&std::fs::read_to_string(directory.join(MANIFEST)).map_err(unreadable)?)?;
        let record: Record = serde_json::from_slice(&std::fs::read(directory.join(RECORD)).map_err(unreadable)?)
            .map_err(|error| Failure::internal(format!("The record of the plugin {name} is damaged: {error}.")))?;
        if manifest.name != name || record.description.name != name {
            return Err(Failure::internal(format!("The plugin in {name} calls itself {}.", manifest.name)));
        }
        Ok(Plugin::new(manifest, record.description, record.digest, Origin::Stored(directory)))
    }

    /// Keeps an admitted plugin: everything is prepared aside and appears in one step.
    pub fn add(&self, manifest: &Manifest, record: &Record, wasm: &[u8]) -> Result<(), Failure> {
        let name = &manifest.name;
        let failed = |error: io::Error| Failure::internal(format!("The plugin {name} cannot be stored: {error}."));
        private_dir(&self.root).map_err(failed)?;
        let aside = self.root.join(format!(".adding-{}", uuid::Uuid::new_v4().simple()));
        let stored = (|| -> io::Result<()> {
            private_dir(&aside)?;
            std::fs::write(aside.join(COMPONENT), wasm)?;
            std::fs::write(aside.join(MANIFEST), toml::to_string_pretty(manifest).map_err(io::Error::other)?)?;
            std::fs::write(aside.join(RECORD), serde_json::to_vec_pretty(record)?)?;
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                &aside,
                rustix::fs::CWD,
                self.root.join(name),
                rustix::fs::RenameFlags::NOREPLACE,
            )?;
            Ok(())
        })();
        match stored {
            Ok(()) => Ok(()),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&aside);
                if error.kind() == io::ErrorKind::AlreadyExists {
                    return Err(Failure::new(Class::Conflict, "PLUGIN_EXISTS", format!("A plugin named {name} is already there."))
                        .suggest(format!("Remove it first: zipfs plugin remove {name}")));
                }
                Err(failed(error))
            }
        }
    }

    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let aside = self.root.join(format!(".removing-{}", uuid::Uuid::new_v4().simple()));
        super::manifest::check_plugin_name(name)?;
        match std::fs::rename(self.root.join(name), &aside) {
            Ok(()) => {
                let _ = std::fs::remove_dir_all(&aside);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no plugin {name}."))
                    .suggest("See what there is: zipfs plugin list"))
            }
            Err(error) => Err(Failure::internal(format!("The plugin {name} cannot be removed: {error}."))),
        }
    }
}

/// Compiled code and descriptions that need not be made twice.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    pub fn new(data: &DataDir) -> Cache {
        Cache { root: data.cache() }
    }

    /// The code of a stored plugin, if its component is the one that was admitted.
    pub fn load(&self, sandbox: &Sandbox, directory: &Path, digest: &str) -> Result<Arc<Compiled>, Failure> {
        self.obtain(sandbox, digest, || {
            let wasm = std::fs::read(directory.join(COMPONENT))
                .map_err(|error| Failure::internal(format!("The component in {} cannot be read: {error}.", directory.display())))?;
            if digest_of(&wasm) == digest {
                return Ok(wasm);
            }
            Err(Failure::new(
                Class::Forbidden,
                "PLUGIN_CHANGED",
                format!("The component in {} is not the one that was admitted.", directory.display()),
            )
            .suggest("Remove the plugin and add it again."))
        })
    }

    /// Code by the digest of its component: kept, or made from the component.
    pub fn obtain(
        &self,
        sandbox: &Sandbox,
        digest: &str,
        wasm: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Arc<Compiled>, Failure> {
        match sandbox.load_cached(&self.code_path(sandbox, digest)) {
            Some(compiled) => Ok(Arc::new(compiled)),
            None => self.compile(sandbox, &wasm()?, digest),
        }
    }

    /// Compiles, and keeps the code for the next time if it can be kept.
    fn compile(&self, sandbox: &Sandbox, wasm: &[u8], digest: &str) -> Result<Arc<Compiled>, Failure> {
        self.keep_code(sandbox, sandbox.compile(wasm)?, digest)
    }

    /// Keeps code that was just made, and makes it ready to run.
    pub fn keep_code(&self, sandbox: &Sandbox, code: Code, digest: &str) -> Result<Arc<Compiled>, Failure> {
        if let Some(bytes) = code.to_bytes() {
            self.keep(&self.code_path(sandbox, digest), &bytes);
        }
        Ok(Arc::new(sandbox.ready(code)?))
    }

    pub fn description(&self, digest: &str) -> Option<Description> {
        serde_json::from_slice(&std::fs::read(self.root.join(format!("{digest}.json"))).ok()?).ok()
    }

    pub fn keep_description(&self, digest: &str, description: &Description) {
        if let Ok(text) = serde_json::to_vec(description) {
            self.keep(&self.root.join(format!("{digest}.json")), &text);
        }
    }

    fn code_path(&self, sandbox: &Sandbox, digest: &str) -> PathBuf {
        self.root.join(format!("{digest}-{}.cwasm", sandbox.compatibility()))
    }

    /// Best effort: a cache that cannot be written costs time, nothing else.
    fn keep(&self, path: &Path, bytes: &[u8]) {
        let kept = (|| {
            private_dir(&self.root)?;
            let aside = path.with_extension(format!("{}.new", uuid::Uuid::new_v4().simple()));
            let mut file = std::fs::File::create_new(&aside)?;
            file.write_all(bytes)?;
            // Code that a power cut left half written would be run as it is.
            file.sync_all()?;
            std::fs::rename(&aside, path)
        })();
        if let Err(error) = kept {
            tracing::debug!(%error, path = %path.display(), "not cached");
        }
    }
}

pub fn digest_of(wasm: &[u8]) -> String {
    hex(&Sha256::digest(wasm))
}

fn private_dir(path: &Path) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700).create(path)
}
