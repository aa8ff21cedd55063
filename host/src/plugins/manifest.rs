//! `plugin.toml`: what a plugin asks for, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::description::WorkspaceAccess;
use crate::failure::{Failure, Shape};
use crate::sandbox::Capability;

/// The file. Unknown keys are errors: a key that we do not know may be a promise that we do not keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    #[serde(default)]
    pub description: String,
    /// How its errors look on the wire.
    #[serde(default)]
    pub errors: Shape,
    /// The most that any of its tools does with the workspace.
    #[serde(default)]
    pub workspace: WorkspaceAsk,
    /// Capabilities by name, each with the reason that is shown to the person who decides.
    #[serde(default)]
    pub capabilities: BTreeMap<Capability, String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceAsk {
    #[serde(default)]
    pub access: WorkspaceAccess,
    #[serde(default)]
    pub why: String,
}

impl Manifest {
    pub fn parse(text: &str) -> Result<Manifest, Failure> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| {
            Failure::invalid(format!("plugin.toml is not valid: {}.", error.message())).suggest("Correct the file.")
        })?;
        check_plugin_name(&manifest.name)?;
        Ok(manifest)
    }
}

/// Plugin names become directory names and parts of addresses.
pub fn check_plugin_name(name: &str) -> Result<(), Failure> {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-');
    if fits {
        return Ok(());
    }
    Err(Failure::invalid(format!("{:?} cannot be the name of a plugin.", name.chars().take(80).collect::<String>()))
        .suggest("Use 1 to 64 of a-z, 0-9 and `-`, not beginning with `-`."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_capabilities_are_refused() {
        let good =
            "name = \"notes\"\nversion = \"1.0.0\"\n[workspace]\naccess = \"read\"\n[capabilities]\nfiles = \"Sets modes.\"\n";
        assert!(Manifest::parse(good).is_ok());
        assert!(Manifest::parse(&good.replace("files", "network")).is_err());
        assert!(Manifest::parse(&format!("trusted = true\n{good}")).is_err());
        assert!(Manifest::parse(&good.replace("\"notes\"", "\"../notes\"")).is_err());
    }
}
