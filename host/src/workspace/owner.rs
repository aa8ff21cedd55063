//! On whose behalf the directory of sessions is used: whose sessions are seen, and how much there may be of them.

use std::sync::Arc;

use super::quota::Usage;
use super::reach::Reach;
use super::store::Workspaces;
use crate::failure::Failure;

/// Whoever a session belongs to. Nobody else lists it, resolves it, or learns that it exists.
#[derive(Debug, Clone)]
pub struct Owner {
    pub id: Arc<str>,
    pub most_sessions: u64,
    /// Bytes on disk of all its sessions together.
    pub most_bytes: u64,
    pub reach: Reach,
}

/// The id of the local user, to whom also belongs what was opened before there were others.
pub const LOCAL: &str = "local";

impl Owner {
    /// The local user, whom only the limits of the whole host bound.
    pub fn local() -> Owner {
        Owner { id: LOCAL.into(), most_sessions: u64::MAX, most_bytes: u64::MAX, reach: Reach::Everything }
    }

    pub fn is_local(&self) -> bool {
        &*self.id == LOCAL
    }
}

impl Default for Owner {
    /// Nobody: for guests that only describe themselves.
    fn default() -> Owner {
        Owner { id: "".into(), most_sessions: 0, most_bytes: 0, reach: Reach::nothing() }
    }
}

/// How much one owner may have on disk, looked at while its guests write.
pub struct Share {
    pub workspaces: Arc<Workspaces>,
    pub owner: Owner,
}

impl Share {
    /// Nothing to look after for an owner who may have everything.
    pub fn of(workspaces: &Arc<Workspaces>, owner: &Owner) -> Option<Share> {
        (owner.most_bytes < u64::MAX).then(|| Share { workspaces: workspaces.clone(), owner: owner.clone() })
    }

    /// Whether what was just drawn on a session's account is still within the share. Adding up a handful of accounts of sixteen
    /// bytes once for each megabyte costs nothing, and there is no further account that a crash could leave wrong.
    pub fn is_kept(&self) -> bool {
        self.workspaces.used_by(&self.owner.id).is_ok_and(|used| used.bytes <= self.owner.most_bytes)
    }
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Share").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// Refuses an owner who already has, or would have, more than its share.
pub fn check_share(workspaces: &Workspaces, owner: &Owner, more: Usage) -> Result<(), Failure> {
    if owner.most_bytes == u64::MAX {
        return Ok(());
    }
    let used = workspaces.used_by(&owner.id)?;
    if used.bytes.saturating_add(more.bytes) <= owner.most_bytes {
        return Ok(());
    }
    Err(Failure::limit(format!(
        "Your sessions together may hold {} bytes, and hold {} already; this needs {}.",
        owner.most_bytes, used.bytes, more.bytes
    ))
    .suggest("Close sessions that are not needed."))
}
