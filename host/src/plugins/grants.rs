//! What a person granted to whom: one grant is one thing, for one plugin, bound to the digest of its component.

pub mod file;
pub mod words;

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::manifest::DirectoryAccess;
use crate::sandbox::Capability;
use crate::sandbox::egress::{HostPattern, Rule, Scheme};
pub use file::GrantFile;

/// In place of the digest for the components of the binary: they change with it, and whoever runs it trusts it whole.
pub const BUNDLED: &str = "bundled";

/// One entry of `grants.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub plugin: String,
    /// SHA-256 of the component, or [`BUNDLED`].
    pub digest: String,
    pub given: Given,
    /// From when on it counts no more.
    pub expires: Option<Timestamp>,
    pub granted_at: Timestamp,
}

/// What is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Given {
    Files {},
    Sessions {},
    Http {
        host: HostPattern,
        port: u16,
        scheme: Scheme,
        methods: Vec<String>,
        /// Whether the host may be at an address that is not public. An address that is named needs no such word.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        private: bool,
    },
    Directory {
        name: String,
        path: PathBuf,
        access: DirectoryAccess,
    },
    Environment {
        name: String,
        value: String,
    },
    /// The value is in the directory of secrets, never here.
    Secret {
        name: String,
        /// Where it is sent, if the manifest leaves that open or it is narrowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<HostPattern>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// `http` lets it go out unencrypted. Without that, only to this machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scheme: Option<Scheme>,
    },
    Endpoint {
        name: String,
        /// `/run/x.sock`, `http://host:port` or `https://host:port`.
        address: String,
        /// Certificates that the service is trusted by, in place of the public ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ca: Option<PathBuf>,
    },
    Limits {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
    },
    /// A directory in place of a session. Without a path it is where the variable says that the manifest names.
    Root {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
        access: DirectoryAccess,
    },
}

impl Given {
    /// The word for its kind, as in the file and on the command line.
    pub fn kind(&self) -> &'static str {
        match self {
            Given::Limits { .. } => "limits",
            Given::Root { .. } => "root",
            other => other.capability().map_or("", Capability::name),
        }
    }

    /// What a tool has to declare to use it. Limits and a root are for the whole plugin.
    pub fn capability(&self) -> Option<Capability> {
        match self {
            Given::Files {} => Some(Capability::Files),
            Given::Sessions {} => Some(Capability::Sessions),
            Given::Http { .. } => Some(Capability::Http),
            Given::Directory { .. } => Some(Capability::Directory),
            Given::Environment { .. } => Some(Capability::Environment),
            Given::Secret { .. } => Some(Capability::Secret),
            Given::Endpoint { .. } => Some(Capability::Endpoint),
            Given::Limits { .. } | Given::Root { .. } => None,
        }
    }

    /// A grant of HTTP as it is compared with requests.
    pub fn rule(&self) -> Option<Rule> {
        let Given::Http { host, port, scheme, methods, private } = self else { return None };
        Some(Rule {
            host: host.clone(),
            port: Some(*port),
            scheme: Some(*scheme),
            methods: methods.clone(),
            reads: Vec::new(),
            private: *private,
        })
    }

    /// Whether one takes the place of the other: there is one directory `docs`, one variable `TZ`, one grant for a host and port.
    pub fn replaces(&self, other: &Given) -> bool {
        match (self, other) {
            (Given::Http { host, port, scheme, .. }, Given::Http { host: h, port: p, scheme: s, .. }) => {
                (host, port, scheme) == (h, p, s)
            }
            (Given::Directory { name, .. }, Given::Directory { name: other, .. })
            | (Given::Environment { name, .. }, Given::Environment { name: other, .. })
            | (Given::Secret { name, .. }, Given::Secret { name: other, .. })
            | (Given::Endpoint { name, .. }, Given::Endpoint { name: other, .. }) => name == other,
            _ => self.kind() == other.kind() && !matches!(self, Given::Http { .. }),
        }
    }

    /// In a few words, as it is shown and as `revoke` takes it: `http=api.example.com:443`.
    pub fn label(&self) -> String {
        match self {
            Given::Http { host, port, .. } => format!("http={host}:{port}"),
            Given::Directory { name, path, .. } => format!("directory={name}:{}", path.display()),
            Given::Environment { name, value } => format!("env={name}={value}"),
            // That it may go out unencrypted is seen wherever grants are.
            Given::Secret { name, host: Some(host), port, scheme: Some(Scheme::Http) } => {
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                format!("secret={name}@http://{host}{port}")
            }
            Given::Secret { name, .. } => format!("secret={name}"),
            Given::Endpoint { name, address, .. } => format!("endpoint={name}:{address}"),
            Given::Root { path: Some(path), .. } => format!("root={}", path.display()),
            Given::Root { path: None, .. } => "root".to_owned(),
            Given::Files {} | Given::Sessions {} | Given::Limits { .. } => self.kind().to_owned(),
        }
    }

    /// Whether a word of the command line means this one: its kind (`http`), its name (`directory=docs`), or its whole label.
    pub fn is_meant_by(&self, word: &str) -> bool {
        let (kind, rest) = match word.split_once('=') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (word, None),
        };
        let kind = if kind == "env" { "environment" } else { kind };
        if kind != self.kind() {
            return false;
        }
        let Some(rest) = rest else { return true };
        if word == self.label() {
            return true;
        }
        match self {
            Given::Http { host, .. } => host.to_string() == rest,
            Given::Directory { name, .. }
            | Given::Environment { name, .. }
            | Given::Secret { name, .. }
            | Given::Endpoint { name, .. } => name == rest,
            _ => false,
        }
    }
}

impl Grant {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    pub fn is_of(&self, plugin: &str, digest: &str) -> bool {
        self.plugin == plugin && self.digest == digest
    }
}
