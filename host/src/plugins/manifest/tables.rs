//! The tables of `plugin.toml`, one for each kind of thing that a plugin can ask for.

use serde::{Deserialize, Serialize};

use crate::plugins::description::WorkspaceAccess;
use crate::sandbox::egress::{HostPattern, ReadPattern, Rule, Scheme};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceAsk {
    #[serde(default)]
    pub access: WorkspaceAccess,
    #[serde(default)]
    pub why: String,
}

/// Requests to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpAsk {
    /// A name, an address, `*.example.com`, or `*` where only the person who grants can know it.
    pub host: HostPattern,
    /// By default that of the scheme; any for the host `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// `https` by default; any for the host `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    #[serde(default = "reading_methods")]
    pub methods: Vec<String>,
    /// Requests besides GET, HEAD and OPTIONS that change nothing, as in `POST /items/search`; `*` stands for one segment. The tools
    /// that count as read-only may send these and no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    #[serde(default)]
    pub why: String,
}

fn reading_methods() -> Vec<String> {
    vec!["GET".into(), "HEAD".into()]
}

impl HttpAsk {
    /// What a component without a manifest asks for: any method, wherever the grant allows.
    pub fn open() -> HttpAsk {
        let methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"].map(String::from).to_vec();
        HttpAsk { host: HostPattern::Any, port: None, scheme: None, methods, reads: Vec::new(), why: String::new() }
    }

    /// As it is compared with requests.
    pub fn rule(&self) -> Rule {
        let is_open = self.host == HostPattern::Any;
        let scheme = self.scheme.or((!is_open).then_some(Scheme::Https));
        Rule {
            host: self.host.clone(),
            port: self.port.or_else(|| if is_open { None } else { scheme.map(Scheme::default_port) }),
            scheme,
            methods: self.methods.clone(),
            // Checked when the manifest was read.
            reads: self.reads.iter().filter_map(|text| ReadPattern::parse(text).ok()).collect(),
            private: false,
        }
    }
}

/// A directory of the host besides the workspace. Where it is, the grant says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryAsk {
    pub name: String,
    /// Where the guest finds it: an absolute path that is not in the workspace.
    pub guest: String,
    #[serde(default)]
    pub access: DirectoryAccess,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectoryAccess {
    #[default]
    Read,
    Write,
}

impl From<DirectoryAccess> for WorkspaceAccess {
    fn from(access: DirectoryAccess) -> WorkspaceAccess {
        match access {
            DirectoryAccess::Read => WorkspaceAccess::Read,
            DirectoryAccess::Write => WorkspaceAccess::Write,
        }
    }
}

/// A variable. Its value is in the grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentAsk {
    pub name: String,
    /// The value without a grant. With it, the plugin works without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default)]
    pub why: String,
}

/// A secret. With `header` the host puts it into the requests to `host`, and the guest never holds it; without, the guest reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretAsk {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What the header says, with `{}` where the secret goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// `*` where the grant has to name the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostPattern>,
    #[serde(default)]
    pub why: String,
}

/// A service of the machine or the network that WASI has no word for. Where it is, the grant says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointAsk {
    pub name: String,
    pub kind: EndpointKind,
    #[serde(default)]
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointKind {
    /// A unix socket: bytes there and back.
    Unix,
    /// Unary calls of gRPC.
    Grpc,
}

/// More than a call gets by default. What is not there stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsAsk {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    #[serde(default)]
    pub why: String,
}

/// A directory of the host instead of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootAsk {
    #[serde(default)]
    pub access: DirectoryAccess,
    /// The variable by which the system that this plugin stands in for is told its directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Where it is without that variable: `~/x`, or an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    #[serde(default)]
    pub why: String,
}

/// Name and version of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    pub name: String,
    pub version: String,
    /// Where it listens where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}
