//! Who calls: an identity, what it may do, and how much of the host it may use.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::scopes::Scopes;
use crate::config::PrincipalLimits;
use crate::plugins::Role;

/// Whoever is behind a call. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Principal {
    /// Unique and lasting: workspaces and the audit log know the caller by it. The local user's is `local`.
    pub id: Arc<str>,
    /// For people.
    pub name: Arc<str>,
    pub role: Role,
    /// The paths that may be touched; `None` for all of them.
    pub scopes: Option<Arc<Scopes>>,
    pub kind: PrincipalKind,
    /// Which files of the host may be opened as archives and written back.
    pub open_roots: OpenRoots,
    pub limits: PrincipalLimits,
}

/// How the host knows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    /// Started this process: standard input and output, or the command line.
    Local,
    /// Sent a token that `zipfs token add` made.
    Token,
    /// Sent a signed statement of somebody whom the configuration trusts.
    Jwt,
}

/// The id that workspaces of the local user carry.
pub const LOCAL: &str = "local";

impl Principal {
    /// The person who started this process: over standard input and output, or at the command line.
    pub fn local() -> Principal {
        Principal {
            id: LOCAL.into(),
            name: LOCAL.into(),
            role: Role::Admin,
            scopes: None,
            kind: PrincipalKind::Local,
            open_roots: OpenRoots::Everything,
            limits: PrincipalLimits::NONE,
        }
    }

    /// Whether it must not learn where things are on the host.
    pub fn is_remote(&self) -> bool {
        self.kind != PrincipalKind::Local
    }
}

/// Files of the host that a principal may open and sync.
#[derive(Debug, Clone)]
pub enum OpenRoots {
    Everything,
    Only(Arc<[OpenRoot]>),
}

impl OpenRoots {
    pub fn nothing() -> OpenRoots {
        OpenRoots::Only(Arc::new([]))
    }
}

/// A directory of the host that a principal sees under a name: `/inbox/report.zip` is `report.zip` in the root `inbox`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRoot {
    pub name: String,
    pub path: PathBuf,
    /// Whether archives in it may be opened but not written back.
    #[serde(default)]
    pub read_only: bool,
}
