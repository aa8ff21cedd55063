//! Who calls: an identity, what it may do, and how much of the host it may use.

use std::sync::Arc;

use serde::Serialize;

use super::scopes::Scopes;
use crate::config::PrincipalLimits;
use crate::plugins::Role;
use crate::workspace::Owner;
use crate::workspace::owner::LOCAL;
use crate::workspace::reach::Reach;

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
    pub open_roots: Reach,
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

impl Principal {
    /// The person who started this process: over standard input and output, or at the command line.
    pub fn local() -> Principal {
        Principal {
            id: LOCAL.into(),
            name: LOCAL.into(),
            role: Role::Admin,
            scopes: None,
            kind: PrincipalKind::Local,
            open_roots: Reach::Everything,
            limits: PrincipalLimits::NONE,
        }
    }

    /// Whether it must not learn where things are on the host.
    pub fn is_remote(&self) -> bool {
        self.kind != PrincipalKind::Local
    }

    /// Whose workspaces it has, and how much of them.
    pub fn owner(&self) -> Owner {
        Owner {
            id: self.id.clone(),
            most_sessions: self.limits.sessions,
            most_bytes: self.limits.disk_bytes,
            reach: self.open_roots.clone(),
        }
    }
}
