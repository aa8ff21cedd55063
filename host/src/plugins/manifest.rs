//! `plugin.toml`: what a plugin asks for, and why.

pub mod ask;
mod check;
mod tables;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::description::WorkspaceAccess;
use crate::failure::{Failure, Shape};
use crate::sandbox::Capability;
pub use ask::Ask;
pub use tables::{
    DirectoryAccess, DirectoryAsk, EndpointAsk, EndpointKind, EnvironmentAsk, HttpAsk, Identity, LimitsAsk, RootAsk, SecretAsk,
    WorkspaceAsk,
};

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
    /// Interfaces that the component imports and never needs: the runtime of its language brings them along. A call of one ends
    /// the call of the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// The most that any of its tools does with the workspace.
    #[serde(default)]
    pub workspace: WorkspaceAsk,
    /// Interfaces of the host by name (`files`, `sessions`), each with the reason that is shown to the person who decides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capabilities: BTreeMap<Capability, String>,
    /// What to say of the functions of a component that does not describe itself, by the name of the tool.
    #[serde(default, rename = "function", skip_serializing_if = "BTreeMap::is_empty")]
    pub functions: BTreeMap<String, FunctionNotes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpAsk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directory: Vec<DirectoryAsk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<EnvironmentAsk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret: Vec<SecretAsk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoint: Vec<EndpointAsk>,
    /// More than calls get by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsAsk>,
    /// It can be bound to a granted directory instead of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<RootAsk>,
    /// Methods of JSON-RPC and the tools behind them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub methods: BTreeMap<String, String>,
    /// Who the server says it is where this plugin is served alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Words for a function that has none of its own, and the least it can do with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionNotes {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it does with the workspace, if that is less than what `[workspace]` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<WorkspaceAccess>,
    /// What each argument means.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}

/// What a component may import and run without: the languages that bring it along do not start anything with it.
const CAN_DO_WITHOUT: [&str; 2] = ["wasi:sockets", "wasi:http"];

impl Manifest {
    /// Whether the component is to run without this import, as in `wasi:sockets/tcp@0.2.0`.
    pub fn runs_without(&self, import: &str) -> bool {
        self.without.iter().any(|name| import.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/')))
    }

    pub fn parse(text: &str) -> Result<Manifest, Failure> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| {
            Failure::invalid(format!("plugin.toml is not valid: {}.", error.message())).suggest("Correct the file.")
        })?;
        manifest.check()?;
        if let Some(name) = manifest.without.iter().find(|name| !CAN_DO_WITHOUT.contains(&name.as_str())) {
            return Err(Failure::invalid(format!("plugin.toml: `without` cannot name {name:?}."))
                .suggest(format!("It can name {}.", CAN_DO_WITHOUT.join(" and "))));
        }
        manifest.methods.keys().try_for_each(|method| check_method(method))?;
        Ok(manifest)
    }

    /// A manifest that asks for nothing.
    pub fn plain(name: impl Into<String>, version: impl Into<String>) -> Manifest {
        Manifest {
            name: name.into(),
            version: version.into(),
            description: String::new(),
            errors: Shape::default(),
            without: Vec::new(),
            functions: BTreeMap::new(),
            workspace: WorkspaceAsk { access: WorkspaceAccess::None, why: String::new() },
            capabilities: BTreeMap::new(),
            http: Vec::new(),
            directory: Vec::new(),
            environment: Vec::new(),
            secret: Vec::new(),
            endpoint: Vec::new(),
            limits: None,
            root: None,
            methods: BTreeMap::new(),
            identity: None,
        }
    }

    /// Whether it asks for anything of this kind.
    pub fn asks_for(&self, capability: Capability) -> bool {
        match capability {
            Capability::Files | Capability::Sessions => self.capabilities.contains_key(&capability),
            Capability::Http => !self.http.is_empty(),
            Capability::Directory => !self.directory.is_empty(),
            Capability::Environment => !self.environment.is_empty(),
            Capability::Secret => !self.secret.is_empty(),
            Capability::Endpoint => !self.endpoint.is_empty(),
        }
    }
}

/// `rpc.` is JSON-RPC's own; what MCP has must not be answered by somebody else.
fn check_method(method: &str) -> Result<(), Failure> {
    let fits = (1..=128).contains(&method.len())
        && method.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        && !method.starts_with("rpc.");
    if fits {
        return Ok(());
    }
    Err(Failure::invalid(format!("{:?} cannot be a method.", method.chars().take(80).collect::<String>()))
        .suggest("Use letters, digits, `_`, `-` and `.`, not beginning with `rpc.`."))
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
        assert!(Manifest::parse(&good.replace("files", "http")).is_err());
        assert!(Manifest::parse(&format!("trusted = true\n{good}")).is_err());
        assert!(Manifest::parse(&good.replace("\"notes\"", "\"../notes\"")).is_err());
        assert!(Manifest::parse(&format!("without = [\"wasi:sockets\"]\n{good}")).unwrap().runs_without("wasi:sockets/tcp@0.2.0"));
        assert!(Manifest::parse(&format!("without = [\"wasi:filesystem\"]\n{good}")).is_err());
        assert!(Manifest::parse(&format!("{good}[function.add]\nnote = \"?\"\n")).is_err());
        for table in [
            "[[http]]\nhost = \"a.example\"\nredirects = true\n",
            "[[directory]]\nname = \"d\"\nguest = \"/d\"\naccess = \"all\"\n",
            "[[secret]]\nname = \"k\"\nvalue = \"x\"\n",
            "[limits]\nfuel = 1\n",
            "[root]\npath = \"/\"\n",
        ] {
            assert!(Manifest::parse(&format!("{good}{table}")).is_err(), "{table}");
        }
    }

    #[test]
    fn what_is_read_can_be_written_and_read_again() {
        let text = "name = \"all\"\nversion = \"1\"\n[[http]]\nhost = \"*.example.com\"\nmethods = [\"GET\", \"POST\"]\nreads = [\"POST /find\"]\n\
                    [[directory]]\nname = \"docs\"\nguest = \"/docs\"\n[[environment]]\nname = \"TZ\"\n\
                    [[secret]]\nname = \"key\"\nheader = \"authorization\"\nformat = \"Bearer {}\"\nhost = \"api.example.com\"\n\
                    [[endpoint]]\nname = \"db\"\nkind = \"unix\"\n[limits]\nmemory_bytes = 134217728\nwhy = \"Large documents.\"\n\
                    [methods]\n\"files.read\" = \"files.read\"\n[identity]\nname = \"all\"\nversion = \"2\"\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(Manifest::parse(&toml::to_string_pretty(&manifest).unwrap()).unwrap(), manifest);
    }

    #[test]
    fn what_could_not_be_given_is_not_asked_for() {
        let with = |table: &str| Manifest::parse(&format!("name = \"a\"\nversion = \"1\"\n{table}"));
        for table in [
            "[[directory]]\nname = \"d\"\nguest = \"/workspace/d\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"/workspace\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"relative\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"/a/../b\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"/\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"/a\"\n[[directory]]\nname = \"e\"\nguest = \"/a/b\"\n",
            "[[directory]]\nname = \"d\"\nguest = \"/a\"\n[[directory]]\nname = \"d\"\nguest = \"/b\"\n",
            "[[http]]\nhost = \"a.example\"\nmethods = [\"get\"]\n",
            "[[http]]\nhost = \"a.example\"\nmethods = [\"TRACE\"]\n",
            "[[http]]\nhost = \"a.example/path\"\n",
            "[[http]]\nhost = \"*.example\"\n",
            "[[environment]]\nname = \"A=B\"\n",
            "[[environment]]\nname = \"LD_PRELOAD\\u0000\"\n",
            "[[secret]]\nname = \"../x\"\n",
            "[[secret]]\nname = \"k\"\nheader = \"authorization\"\n",
            "[[secret]]\nname = \"k\"\nheader = \"host\"\nhost = \"a.example\"\n",
            "[[secret]]\nname = \"k\"\nheader = \"x-key\"\nhost = \"a.example\"\nformat = \"no place\"\n",
            "[[secret]]\nname = \"k\"\nheader = \"x-key\"\nhost = \"a.example\"\nformat = \"{}\\r\\nx: y\"\n",
            "[limits]\nmemory_bytes = 99999999999\n",
        ] {
            assert!(with(table).is_err(), "{table}");
        }
    }
}
