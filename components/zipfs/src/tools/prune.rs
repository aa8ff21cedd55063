//! `zipfs_prune`: sessions that nobody needs any more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::sessions::{PruneChoice, PrunedSession};
use zipfs_sdk::{Error, Role, Tool, sessions};

use crate::duration;

const DESCRIPTION: &str = "\
Ends sessions without writing them back, and removes their workspaces: with stale ('24h', '7d') those not used for that long, with \
all=true every one. Changes that were not synced are lost, so look with dry_run=true first. Sessions in use are kept and \
listed in skipped. Returns pruned[] with id, name, reason and discarded_changes, and freed_bytes.";

pub fn tool() -> Tool {
    Tool::new("zipfs_prune", DESCRIPTION, prune).title("Prune sessions").role(Role::Operator).uses("sessions").destructive(true)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Every session.
    #[serde(default)]
    all: bool,
    /// Sessions that were not used for this long: '30m', '24h', '7d', '1d12h'.
    stale: Option<String>,
    /// Only say what would be removed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
struct Pruned {
    pruned: Vec<Gone>,
    freed_bytes: u64,
    /// Sessions that were to go and are still there.
    skipped: Vec<Kept>,
    /// Remains of interrupted work that were removed too.
    remains_removed: u64,
}

#[derive(Serialize, JsonSchema)]
struct Gone {
    id: String,
    name: String,
    /// 'stale (3d)' or 'all sessions'.
    reason: String,
    /// Changed files that were not in the archive.
    discarded_changes: u64,
}

#[derive(Serialize, JsonSchema)]
struct Kept {
    id: String,
    name: String,
    reason: String,
}

fn prune(arguments: Arguments) -> Result<Pruned, Error> {
    let choice = choose(arguments.all, arguments.stale.as_deref())?;
    let pruned = sessions::prune(choice, arguments.dry_run)?;
    let mut result =
        Pruned { pruned: Vec::new(), freed_bytes: pruned.freed_bytes, skipped: Vec::new(), remains_removed: pruned.remains };
    for session in pruned.sessions {
        let reason = reason(&session, arguments.all);
        let PrunedSession { id, name, discarded_changes, kept_because, .. } = session;
        match kept_because {
            Some(reason) => result.skipped.push(Kept { id, name, reason }),
            None => result.pruned.push(Gone { id, name, reason, discarded_changes }),
        }
    }
    Ok(result)
}

fn choose(all: bool, stale: Option<&str>) -> Result<PruneChoice, Error> {
    match (all, stale) {
        (true, None) => Ok(PruneChoice::All),
        (false, Some(text)) => {
            let span = duration::parse(text).ok_or_else(|| {
                Error::invalid("INVALID_PARAMS", format!("Invalid argument 'stale': '{text}' is no duration."))
                    .suggest("Write it like '30m', '24h', '7d' or '1d12h'.")
            })?;
            Ok(PruneChoice::UnusedFor(span.as_secs() + u64::from(span.subsec_nanos() > 0)))
        }
        (true, Some(_)) => Err(Error::invalid("INVALID_PARAMS", "Give either 'all' or 'stale', not both.")),
        (false, None) => Err(Error::invalid("INVALID_PARAMS", "Say which sessions: 'stale' or 'all'.")
            .suggest("For example stale='7d'; with dry_run=true nothing is removed.")),
    }
}

fn reason(session: &PrunedSession, all: bool) -> String {
    if all { "all sessions".to_owned() } else { format!("stale ({})", duration::brief(session.unused_for)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_prune_has_to_be_said_and_said_once() {
        assert!(matches!(choose(true, None), Ok(PruneChoice::All)));
        assert!(matches!(choose(false, Some("7d")), Ok(PruneChoice::UnusedFor(604_800))));
        assert!(matches!(choose(false, Some("1500ms")), Ok(PruneChoice::UnusedFor(2))));
        for (all, stale) in [(false, None), (true, Some("7d")), (false, Some("soon")), (false, Some("")), (false, Some("-1h"))] {
            assert_eq!(
                choose(all, stale).err().map(|error| error.code().to_owned()).as_deref(),
                Some("INVALID_PARAMS"),
                "{stale:?}"
            );
        }
    }
}
