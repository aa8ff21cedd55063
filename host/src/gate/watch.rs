//! The grants as they are now, and the end of calls from under which one was taken away.
//!
//! A call that was given something looks at the file once, when it begins. While such calls run, one task looks at it every few
//! milliseconds; when none does, nobody does.

use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::failure::{Class, Failure};
use crate::plugins::Plugin;
use crate::plugins::grants::file::Stamp;
use crate::plugins::grants::{Grant, GrantFile};
use crate::plugins::store::Store;

/// How often the file is looked at while calls run that hold grants. A call ends within 100 ms of a revocation.
/// Test: `security::grants::revoking_ends_running_calls`.
const LOOK: Duration = Duration::from_millis(20);

/// The grants of a data directory.
#[derive(Clone)]
pub struct Grants(Arc<State>);

struct State {
    file: GrantFile,
    store: Store,
    known: RwLock<Option<Arc<Known>>>,
    running: Mutex<Running>,
}

struct Known {
    stamp: Option<Stamp>,
    grants: Result<Vec<Grant>, Failure>,
}

#[derive(Default)]
struct Running {
    calls: Vec<Weak<Held>>,
    is_watched: bool,
}

/// What a running call holds.
pub struct Held {
    plugin: String,
    digest: String,
    grants: Vec<Grant>,
    stop: CancellationToken,
    lost: OnceLock<Failure>,
}

impl Grants {
    pub fn new(file: GrantFile, store: Store) -> Grants {
        Grants(Arc::new(State { file, store, known: RwLock::default(), running: Mutex::default() }))
    }

    pub fn file(&self) -> &GrantFile {
        &self.0.file
    }

    /// What a plugin has now, without what expired.
    pub fn of(&self, plugin: &Plugin) -> Result<Vec<Grant>, Failure> {
        let (name, digest) = (&plugin.description.name, plugin.grant_digest());
        let (known, now) = (self.0.current(), Timestamp::now());
        match &known.grants {
            Ok(grants) => Ok(grants.iter().filter(|grant| grant.is_of(name, digest) && !grant.is_expired(now)).cloned().collect()),
            Err(failure) => Err(failure.clone()),
        }
    }

    /// Notes that a call runs under these grants. The call has to run under the token that this gives.
    pub fn hold(&self, plugin: &Plugin, grants: Vec<Grant>, cancel: &CancellationToken) -> Arc<Held> {
        let held = Arc::new(Held {
            plugin: plugin.description.name.clone(),
            digest: plugin.grant_digest().to_owned(),
            grants,
            stop: cancel.child_token(),
            lost: OnceLock::new(),
        });
        let mut running = self.0.running();
        running.calls.push(Arc::downgrade(&held));
        if !std::mem::replace(&mut running.is_watched, true) {
            tokio::spawn(watch(self.0.clone()));
        }
        held
    }
}

impl Held {
    pub fn token(&self) -> &CancellationToken {
        &self.stop
    }

    pub fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }
}

/// Why a call ended, if it was because it lost a grant.
pub(super) fn explain<T>(held: Option<&Held>, ended: Result<T, Failure>) -> Result<T, Failure> {
    match (ended, held.and_then(|held| held.lost.get())) {
        (Err(failure), Some(lost)) if failure.code == "CANCELLED" => Err(lost.clone()),
        (ended, _) => ended,
    }
}

async fn watch(state: Arc<State>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let calls: Vec<Arc<Held>> = {
            let mut running = state.running();
            running.calls.retain(|call| call.strong_count() > 0);
            if running.calls.is_empty() {
                running.is_watched = false;
                return;
            }
            running.calls.iter().filter_map(Weak::upgrade).collect()
        };
        let (known, now) = (state.current(), Timestamp::now());
        for call in calls {
            if let Some(failure) = state.loss(&call, &known, now) {
                let _ = call.lost.set(failure);
                call.stop.cancel();
            }
        }
    }
}

impl State {
    fn running(&self) -> std::sync::MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The grants, read again if the file is another than the one that was read last.
    fn current(&self) -> Arc<Known> {
        // Before the reading: a change in between is seen at the next look.
        let stamp = self.file.stamp();
        if let Some(known) = &*self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner())
            && known.stamp == stamp
        {
            return known.clone();
        }
        let known = Arc::new(Known { stamp, grants: self.file.read() });
        *self.known.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(known.clone());
        known
    }

    /// What a call lost, if it did. A version that was replaced or removed meanwhile finishes what it began.
    fn loss(&self, call: &Held, known: &Known, now: Timestamp) -> Option<Failure> {
        let granted = match &known.grants {
            Ok(granted) => granted,
            Err(failure) => return Some(failure.clone()),
        };
        let lost = |code: &'static str, what: &Grant, how: &str| {
            let message = format!("The call was ended: the grant of {} to the plugin {} {how}.", what.given.kind(), call.plugin);
            Failure::new(Class::Forbidden, code, message).suggest("Who runs this host can grant it again: zipfs plugin grant")
        };
        for held in &call.grants {
            if held.is_expired(now) {
                return Some(lost("GRANT_EXPIRED", held, "expired"));
            }
            let is_there = granted
                .iter()
                .any(|grant| grant.is_of(&call.plugin, &call.digest) && grant.given == held.given && !grant.is_expired(now));
            if !is_there && self.store.has(&call.plugin, &call.digest) {
                return Some(lost("GRANT_REVOKED", held, "was revoked"));
            }
        }
        None
    }
}
