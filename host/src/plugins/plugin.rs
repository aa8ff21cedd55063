//! One admitted plugin: its description, and its code once somebody needs it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use super::bundled::Bundled;
use super::cache::{Cache, Stored};
use super::description::{Description, Tool};
use super::grants;
use super::manifest::Manifest;
use crate::failure::Failure;
use crate::sandbox::{Compiled, Sandbox};

/// A plugin that the registry offers.
pub struct Plugin {
    pub manifest: Manifest,
    pub description: Description,
    /// SHA-256 of the component, which the grants are bound to.
    pub digest: String,
    pub origin: Origin,
    compiled: Mutex<Option<Arc<Compiled>>>,
    schemas: Vec<Schemas>,
}

/// Where the component is.
pub enum Origin {
    Bundled(&'static Bundled),
    Stored {
        path: PathBuf,
        /// The signature that came beside it.
        signature: Option<String>,
    },
}

/// Compiled validators, made when a tool is first called.
#[derive(Default)]
struct Schemas {
    input: OnceLock<jsonschema::Validator>,
    output: OnceLock<Option<jsonschema::Validator>>,
}

impl Plugin {
    pub fn new(manifest: Manifest, description: Description, digest: String, origin: Origin) -> Plugin {
        let schemas = description.tools.iter().map(|_| Schemas::default()).collect();
        Plugin { manifest, description, digest, origin, compiled: Mutex::new(None), schemas }
    }

    pub fn tool(&self, index: usize) -> &Tool {
        &self.description.tools[index]
    }

    /// What its grants are bound to.
    pub fn grant_digest(&self) -> &str {
        match &self.origin {
            Origin::Bundled(_) => grants::BUNDLED,
            Origin::Stored { .. } => &self.digest,
        }
    }

    /// Whether the code is loaded, or at hand: then [`Plugin::compiled`] takes no time.
    pub fn is_ready(&self) -> bool {
        // Whoever holds the lock is compiling.
        matches!(self.origin, Origin::Bundled(_)) || self.compiled.try_lock().is_ok_and(|compiled| compiled.is_some())
    }

    /// The code, loaded or made on first use and then kept.
    pub fn compiled(&self, sandbox: &Sandbox, cache: &Cache) -> Result<Arc<Compiled>, Failure> {
        let mut kept = self.compiled.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(compiled) = &*kept {
            return Ok(compiled.clone());
        }
        let compiled = match &self.origin {
            Origin::Bundled(bundled) => bundled.load(sandbox, cache)?,
            Origin::Stored { path, signature } => {
                let name = &self.description.name;
                cache.load(sandbox, &Stored { name, path, digest: &self.digest, signature: signature.as_deref() })?
            }
        };
        Ok(kept.insert(compiled).clone())
    }

    /// The validator of a tool's arguments, without `session`.
    pub fn input_validator(&self, index: usize) -> &jsonschema::Validator {
        self.schemas[index].input.get_or_init(|| {
            let schema = Value::Object(self.tool(index).input_schema.clone());
            // Admission made sure that the schema compiles.
            jsonschema::draft202012::new(&schema).unwrap_or_else(|_| refuse_everything())
        })
    }

    pub fn output_validator(&self, index: usize) -> Option<&jsonschema::Validator> {
        let output = self.schemas[index].output.get_or_init(|| {
            let schema = Value::Object(self.tool(index).output_schema.clone()?);
            jsonschema::draft202012::new(&schema).ok()
        });
        output.as_ref()
    }
}

fn refuse_everything() -> jsonschema::Validator {
    jsonschema::draft202012::new(&Value::Bool(false)).expect("`false` is a schema")
}
