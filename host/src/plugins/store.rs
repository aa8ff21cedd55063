//! Where plugins are kept, and the one step in which they come, change and go.
//!
//! ```text
//! plugins.json                         what was decided: every plugin with its digest, manifest and description
//! plugins.lock                         held while that changes
//! plugins/<name>-<digest, shortened>.wasm    the components; one that plugins.json does not name is left-over
//! plugins/incoming/                    put a plugin here, and it is taken up; see `incoming`
//! ```
//!
//! A plugin is there if plugins.json names it. That file is replaced whole, so whoever reads it sees the state before a change or
//! after it, a crash included. It is the only file that is read at start-up, and it lies outside of `plugins/`: who can write
//! only there can spoil a component, which its digest gives away, and cannot change what was decided.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::cache::Cache;
use super::description::Description;
use super::grants::BUNDLED;
use super::manifest::Manifest;
use super::signature::Standing;
use crate::config::{DataDir, Durability};
use crate::failure::{Class, Failure};
use crate::workspace::copy::hex;
use crate::workspace::durable::write_whole;

/// The form of plugins.json. Another one was written by another version, which knew what it meant.
const FORMAT: u32 = 1;

/// A change takes milliseconds; whoever holds the lock for longer is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was decided about a plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub digest: String,
    pub manifest: Manifest,
    pub description: Description,
    /// What it imports and exports, sorted, to compare the next version with.
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    /// Where it came from, and where the next version is looked for.
    pub source: String,
    pub signed: Standing,
    /// The signature that came beside it. One that it carries is in the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    pub added_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

impl Record {
    pub fn name(&self) -> &str {
        &self.manifest.name
    }
}

/// The plugins of a data directory.
#[derive(Debug, Clone)]
pub struct Store {
    data: PathBuf,
    root: PathBuf,
}

/// Tells one state of plugins.json from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    modified: (i64, i64),
    size: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u32,
    plugins: BTreeMap<String, Box<RawValue>>,
}

#[derive(Serialize)]
struct Writing<'a> {
    format: u32,
    plugins: &'a BTreeMap<String, Box<RawValue>>,
}

/// What must be readable of a record that is not.
#[derive(Deserialize)]
struct Named {
    digest: String,
}

impl Named {
    fn of(raw: &RawValue) -> Option<Named> {
        serde_json::from_str(raw.get()).ok()
    }
}

/// What is there, while it is changed. Everything that is done to it counts when the change ends well, or not at all.
pub struct Change<'a> {
    store: &'a Store,
    plugins: BTreeMap<String, Box<RawValue>>,
}

impl Store {
    pub fn new(data: &DataDir) -> Store {
        Store { data: data.root().to_owned(), root: data.plugins() }
    }

    /// The state that the next reading would see.
    pub fn stamp(&self) -> Option<Stamp> {
        let found = std::fs::metadata(self.data.join(INDEX)).ok()?;
        Some(Stamp { inode: found.ino(), modified: (found.mtime(), found.mtime_nsec()), size: found.size() })
    }

    /// Every plugin, by name. One whose record cannot be read is left out, loudly: the others still work.
    pub fn load_all(&self) -> Vec<Record> {
        let plugins = self.read().unwrap_or_else(|failure| {
            tracing::error!(%failure, "no plugin but those of the program is there");
            BTreeMap::new()
        });
        let parse = |(name, raw): (String, Box<RawValue>)| match parse(&name, &raw) {
            Ok(record) => Some(record),
            Err(failure) => {
                tracing::error!(plugin = name, "left out a plugin: {failure}");
                None
            }
        };
        plugins.into_iter().filter_map(parse).collect()
    }

    /// The names of all plugins, those included whose records cannot be read.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        Ok(self.read()?.into_keys().collect())
    }

    /// Whether this very component is there under this name.
    pub fn has(&self, name: &str, digest: &str) -> bool {
        digest == BUNDLED || self.find(name).is_ok_and(|record| record.digest == digest)
    }

    pub fn find(&self, name: &str) -> Result<Record, Failure> {
        match self.read()?.get(name) {
            Some(raw) => parse(name, raw),
            None => Err(no_such(name)),
        }
    }

    /// Changes what is there, alone: other processes wait for each other here.
    pub fn change<T>(&self, edit: impl FnOnce(&mut Change<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let _lock = self.lock()?;
        let mut change = Change { store: self, plugins: self.read()? };
        // What the change before this one replaced: calls that had begun then have loaded it by now.
        self.sweep(&change.plugins);
        let result = edit(&mut change)?;
        let text = serde_json::to_vec_pretty(&Writing { format: FORMAT, plugins: &change.plugins })
            .map_err(|error| Failure::internal(format!("The plugins cannot be written down: {error}.")))?;
        Dir::open_ambient_dir(&self.data, ambient_authority())
            .and_then(|data| write_whole(&data, INDEX, &text, Durability::Full))
            .map_err(|error| not_stored(&error))?;
        Ok(result)
    }

    /// Takes a plugin away, with all that was kept of it.
    pub fn remove(&self, name: &str, cache: &Cache) -> Result<(), Failure> {
        super::manifest::check_plugin_name(name)?;
        self.change(|change| {
            cache.sweep(change);
            change.remove(name)
        })?;
        // The record is gone; now what it stood for. Calls that run have their code.
        self.change(|change| {
            cache.sweep(change);
            Ok(())
        })
    }

    /// Where the component of a plugin is.
    pub fn component(&self, name: &str, digest: &str) -> PathBuf {
        self.root.join(file_name(name, digest))
    }

    fn read(&self) -> Result<BTreeMap<String, Box<RawValue>>, Failure> {
        let path = self.data.join(INDEX);
        let damaged = |why: &dyn std::fmt::Display| {
            Failure::internal(format!("{} cannot be read: {why}.", path.display()))
                .suggest("Put a copy of it back, or move it away and add the plugins again.")
        };
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(damaged(&error)),
        };
        let written: Written = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        match written.format {
            FORMAT => Ok(written.plugins),
            other => Err(damaged(&format!("it has the form {other}, which another version of zipfs wrote"))),
        }
    }

    fn lock(&self) -> Result<File, Failure> {
        let path = self.data.join(LOCK);
        let began = Instant::now();
        let open = || File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = open().map_err(|error| not_stored(&error))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    return Err(Failure::new(Class::Busy, "LOCKED", "Another process has been changing the plugins for too long.")
                        .suggest(format!("See who holds it: fuser {}", path.display())));
                }
                Err(error) => return Err(not_stored(&error.into())),
            }
        }
    }

    /// Removes components that are not there any more, and what a crash left.
    fn sweep(&self, plugins: &BTreeMap<String, Box<RawValue>>) {
        let mut wanted = Vec::new();
        for (name, raw) in plugins {
            let Some(named) = Named::of(raw) else { return };
            wanted.push(file_name(name, &named.digest));
        }
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if (name.ends_with(".wasm") || name.ends_with(".wasm.new")) && !wanted.contains(&name) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

impl Change<'_> {
    pub fn find(&self, name: &str) -> Option<Result<Record, Failure>> {
        self.plugins.get(name).map(|raw| parse(name, raw))
    }

    /// Whether a plugin of this name is there, readable or not.
    pub fn has(&self, name: &str) -> bool {
        self.plugins.contains_key(name)
    }

    /// Puts a plugin there, in place of the one with its name.
    pub fn put(&mut self, record: &Record, wasm: &[u8]) -> Result<(), Failure> {
        let raw = serde_json::value::to_raw_value(record)
            .map_err(|error| Failure::internal(format!("The plugin cannot be written down: {error}.")))?;
        private_dir(&self.store.root)
            .and_then(|()| write_component(&self.store.component(record.name(), &record.digest), wasm))
            .map_err(|error| not_stored(&error))?;
        self.plugins.insert(record.name().to_owned(), raw);
        Ok(())
    }

    /// Changes what was decided about a plugin that is there.
    pub fn amend(&mut self, record: &Record) -> Result<(), Failure> {
        let raw = serde_json::value::to_raw_value(record)
            .map_err(|error| Failure::internal(format!("The plugin cannot be written down: {error}.")))?;
        match self.plugins.insert(record.name().to_owned(), raw) {
            Some(_) => Ok(()),
            None => Err(no_such(record.name())),
        }
    }

    pub fn remove(&mut self, name: &str) -> Result<(), Failure> {
        self.plugins.remove(name).map(|_| ()).ok_or_else(|| no_such(name))
    }

    /// The digests of all components that are there. Nothing, if there is a record that cannot be read.
    pub fn digests(&self) -> Option<Vec<String>> {
        self.plugins.values().map(|raw| Named::of(raw).map(|named| named.digest)).collect()
    }
}

const INDEX: &str = "plugins.json";
const LOCK: &str = "plugins.lock";

pub fn digest_of(wasm: &[u8]) -> String {
    hex(&Sha256::digest(wasm))
}

pub fn no_such(name: &str) -> Failure {
    let shown: String = name.chars().take(80).collect();
    Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no plugin {shown:?} that was added."))
        .suggest("See what there is: zipfs plugin list")
}

/// For people who look into the directory; what is in the file is checked against the whole digest.
fn file_name(name: &str, digest: &str) -> String {
    format!("{name}-{}.wasm", &digest[..16.min(digest.len())])
}

fn parse(name: &str, raw: &RawValue) -> Result<Record, Failure> {
    let record: Record = serde_json::from_str(raw.get())
        .map_err(|error| Failure::internal(format!("What plugins.json says of the plugin {name} cannot be read: {error}.")))?;
    let is_digest = record.digest.len() == 64 && record.digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    match record.manifest.name == name && record.description.name == name && is_digest {
        true => Ok(record),
        false => Err(Failure::internal(format!("What plugins.json says of the plugin {name} does not fit together."))),
    }
}

/// On disk before anything names it.
fn write_component(path: &Path, wasm: &[u8]) -> io::Result<()> {
    let aside = path.with_extension("wasm.new");
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(wasm)?;
    file.sync_all()?;
    std::fs::rename(&aside, path)
}

fn not_stored(error: &io::Error) -> Failure {
    Failure::new(Class::Internal, "PLUGIN_NOT_STORED", format!("The plugins cannot be changed: {error}."))
        .suggest("Nothing was changed. zipfs doctor shows the state of the data directory.")
}

pub(super) fn private_dir(path: &Path) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700).create(path)
}
