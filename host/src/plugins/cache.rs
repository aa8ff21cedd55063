//! Compiled code and descriptions that need not be made twice.
//!
//! ```text
//! cache/<digest>-<engine>.cwasm    compiled code; can be made again at any time
//! cache/<digest>-<engine>.seal     proof that this program made it
//! cache/<digest>.json              description of a bundled component
//! cache.key                        what seals are made with; outside of cache/
//! ```
//!
//! Code is found by the digest of its component, which is what plugins.json names, in a directory that is not that of the
//! components: whoever can write only `plugins/` cannot put other code in its place. Where signatures are required the seal is
//! checked too, and then whoever can write `plugins/` and `cache/` cannot either. Whoever can write the whole data directory is
//! its owner, whose programs we run as.

use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::anatomy::dissect;
use super::bundled::BUNDLED;
use super::description::Description;
use super::signature::{Trust, required};
use super::store::{Change, digest_of, private_dir};
use crate::config::DataDir;
use crate::failure::{Class, Failure};
use crate::sandbox::compiled::Code;
use crate::sandbox::{Compiled, Sandbox};
use crate::workspace::copy::hex;

#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    key: PathBuf,
    trust: Arc<Trust>,
}

/// A component on disk, and what it has to be.
pub struct Stored<'a> {
    pub name: &'a str,
    pub path: &'a Path,
    pub digest: &'a str,
    /// The signature that came beside it.
    pub signature: Option<&'a str>,
}

impl Cache {
    pub fn new(data: &DataDir, trust: Arc<Trust>) -> Cache {
        Cache { root: data.cache(), key: data.root().join("cache.key"), trust }
    }

    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The code of a stored plugin, if its component is the one that was admitted. Where signatures are required the component is
    /// read and its signature checked each time that code is loaded: a key may have lost its trust.
    pub fn load(&self, sandbox: &Sandbox, stored: &Stored<'_>) -> Result<Arc<Compiled>, Failure> {
        if self.trust.required {
            let wasm = read_component(stored)?;
            let standing = self.trust.keys.check(&wasm, &dissect(&wasm)?, stored.signature)?;
            if !standing.is_trusted() {
                return Err(required(stored.name, &standing));
            }
            return self.obtain(sandbox, stored.digest, || Ok(wasm));
        }
        self.obtain(sandbox, stored.digest, || read_component(stored))
    }

    /// Code by the digest of its component: kept, or made from the component.
    pub fn obtain(
        &self,
        sandbox: &Sandbox,
        digest: &str,
        wasm: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<Arc<Compiled>, Failure> {
        match self.kept(sandbox, digest) {
            Some(compiled) => Ok(Arc::new(compiled)),
            None => {
                let code = sandbox.compile(&wasm()?)?;
                self.keep_code(sandbox, &code, digest);
                Ok(Arc::new(sandbox.ready(code)?))
            }
        }
    }

    fn kept(&self, sandbox: &Sandbox, digest: &str) -> Option<Compiled> {
        let path = self.code_path(sandbox, digest);
        if !self.trust.required {
            return sandbox.load_cached(&path);
        }
        // Read once, and what was checked is what is run: the file could change under a mapping.
        let code = std::fs::read(&path).ok()?;
        match self.is_sealed(&path, &code) {
            true => sandbox.load_checked(&code),
            false => {
                tracing::error!(path = %path.display(), "compiled code without a good seal is made again");
                None
            }
        }
    }

    /// Keeps code that was just made for the next time, if it can be kept.
    pub fn keep_code(&self, sandbox: &Sandbox, code: &Code, digest: &str) {
        let Some(bytes) = code.to_bytes() else { return };
        let path = self.code_path(sandbox, digest);
        if let Some(seal) = self.seal(&path, &bytes) {
            self.keep(&path.with_extension("seal"), seal.as_bytes());
        }
        self.keep(&path, &bytes);
    }

    /// Whether code is there for a component, and whether its seal is good.
    pub fn state(&self, sandbox: &Sandbox, digest: &str) -> Option<bool> {
        let path = self.code_path(sandbox, digest);
        let code = std::fs::read(&path).ok()?;
        Some(self.is_sealed(&path, &code))
    }

    /// Forgets the code of components that are not there any more, whatever engine it was made for.
    pub fn sweep(&self, change: &Change<'_>) {
        let Some(wanted) = change.digests() else { return };
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // What a crash left half written. If somebody is writing it just now, they go without having kept it.
            let is_half_written = name.ends_with(".new");
            let is_stale = name.split_once('-').is_some_and(|(digest, _)| {
                !BUNDLED.iter().any(|bundled| bundled.digest == digest) && !wanted.iter().any(|wanted| wanted == digest)
            });
            if is_half_written || is_stale {
                let _ = std::fs::remove_file(entry.path());
            }
        }
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

    fn is_sealed(&self, path: &Path, code: &[u8]) -> bool {
        let kept = std::fs::read_to_string(path.with_extension("seal")).unwrap_or_default();
        // Whoever can measure how long a comparison takes here can do worse.
        self.seal(path, code).is_some_and(|seal| seal == kept)
    }

    /// Binds code to its name, which holds the digest of its component and what it was compiled for.
    fn seal(&self, path: &Path, code: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key().ok()?).ok()?;
        mac.update(path.file_name()?.as_encoded_bytes());
        mac.update(b"\n");
        mac.update(code);
        Some(hex(&mac.finalize().into_bytes()))
    }

    /// The key, made when it is first needed.
    fn key(&self) -> io::Result<Vec<u8>> {
        match std::fs::read(&self.key) {
            Ok(key) if key.len() == 32 => return Ok(key),
            Ok(_) => return Err(io::Error::other("cache.key is damaged")),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) => {}
        }
        let mut key = [0; 32];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        let aside = self.key.with_extension(uuid::Uuid::new_v4().simple().to_string());
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&aside)?;
        file.write_all(&key)?;
        file.sync_all()?;
        // The first of two that make one at the same time wins.
        let linked = std::fs::hard_link(&aside, &self.key);
        let _ = std::fs::remove_file(&aside);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => std::fs::read(&self.key),
        }
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

/// The bytes that were admitted, or a refusal.
pub fn read_component(stored: &Stored<'_>) -> Result<Vec<u8>, Failure> {
    let wasm = std::fs::read(stored.path).map_err(|error| {
        Failure::new(
            Class::Internal,
            "PLUGIN_CHANGED",
            format!("The component of the plugin {} cannot be read: {}: {error}.", stored.name, stored.path.display()),
        )
        .suggest("Remove the plugin and add it again.")
    })?;
    if digest_of(&wasm) == stored.digest {
        return Ok(wasm);
    }
    Err(Failure::new(
        Class::Forbidden,
        "PLUGIN_CHANGED",
        format!("The component of the plugin {} in {} is not the one that was admitted.", stored.name, stored.path.display()),
    )
    .suggest("Remove the plugin and add it again."))
}
