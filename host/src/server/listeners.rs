//! Clients that want to hear when tools, prompts or resources change, in both eras of the protocol.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionSink};

use crate::sandbox::guest::Change;

/// Those who listen. The dead are forgotten when they are next spoken to.
#[derive(Default)]
pub struct Listeners {
    /// Clients that made a handshake, with the resources that each watches.
    peers: Mutex<Vec<(Peer<RoleServer>, Watched)>>,
    /// Open `subscriptions/listen` requests.
    sinks: Mutex<Vec<SubscriptionSink>>,
}

/// The resources that one client watches, in the older revisions.
pub type Watched = Arc<Mutex<BTreeSet<String>>>;

/// What one client may watch. Test: `protocol::list_changed::watches_are_bounded`.
const MOST_WATCHED: usize = 256;

/// A longer URI is nobody's.
const MOST_URI: usize = 2048;

/// Watches a resource. False if there are too many.
pub fn watch(watched: &Watched, uri: String) -> bool {
    let mut watched = lock(watched);
    let fits = uri.len() <= MOST_URI && (watched.len() < MOST_WATCHED || watched.contains(&uri));
    if fits {
        watched.insert(uri);
    }
    fits
}

pub fn unwatch(watched: &Watched, uri: &str) {
    lock(watched).remove(uri);
}

impl Listeners {
    pub fn add_peer(&self, peer: Peer<RoleServer>, watched: Watched) {
        lock(&self.peers).push((peer, watched));
    }

    pub fn add_sink(&self, sink: SubscriptionSink) {
        lock(&self.sinks).push(sink);
    }

    /// Tells everybody who wants to know.
    pub async fn announce(&self, changes: &[Change]) {
        let peers = std::mem::take(&mut *lock(&self.peers));
        for (peer, watched) in peers {
            if tell_peer(&peer, &watched, changes).await {
                self.add_peer(peer, watched);
            }
        }
        let sinks = std::mem::take(&mut *lock(&self.sinks));
        for sink in sinks {
            if tell(&sink, changes).await {
                self.add_sink(sink);
            }
        }
    }
}

async fn tell_peer(peer: &Peer<RoleServer>, watched: &Watched, changes: &[Change]) -> bool {
    let mut alive = true;
    for change in changes {
        alive &= match change {
            Change::Tools => peer.notify_tool_list_changed().await.is_ok(),
            Change::Prompts => peer.notify_prompt_list_changed().await.is_ok(),
            Change::Resources => peer.notify_resource_list_changed().await.is_ok(),
            Change::Resource(uri) => {
                let wanted = lock(watched).contains(uri);
                !wanted || peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await.is_ok()
            }
        };
    }
    alive
}

/// Tells one subscriber what it subscribed to. False if it is gone.
pub async fn tell(sink: &SubscriptionSink, changes: &[Change]) -> bool {
    let wants = sink.accepted().clone();
    let mut alive = true;
    for change in changes {
        alive &= match change {
            Change::Tools if wants.tools_list_changed == Some(true) => sink.notify_tool_list_changed().await.is_ok(),
            Change::Prompts if wants.prompts_list_changed == Some(true) => sink.notify_prompt_list_changed().await.is_ok(),
            Change::Resources if wants.resources_list_changed == Some(true) => sink.notify_resource_list_changed().await.is_ok(),
            Change::Resource(uri) if wants.resource_subscriptions.as_ref().is_some_and(|uris| uris.contains(uri)) => {
                sink.notify_resource_updated(uri.clone()).await.is_ok()
            }
            _ => true,
        };
    }
    alive
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
