//! Clients that want to hear when tools, prompts or resources come and go, in both eras of the protocol.

use std::sync::{Mutex, MutexGuard};

use rmcp::service::{Peer, RoleServer, SubscriptionSink};

/// Those who listen. The dead are forgotten when they are next spoken to.
#[derive(Default)]
pub struct Listeners {
    /// Clients that made a handshake.
    peers: Mutex<Vec<Peer<RoleServer>>>,
    /// Open `subscriptions/listen` requests.
    sinks: Mutex<Vec<SubscriptionSink>>,
}

impl Listeners {
    pub fn add_peer(&self, peer: Peer<RoleServer>) {
        lock(&self.peers).push(peer);
    }

    pub fn add_sink(&self, sink: SubscriptionSink) {
        lock(&self.sinks).push(sink);
    }

    /// Tells everybody that the lists may have changed.
    pub async fn announce(&self) {
        let peers = std::mem::take(&mut *lock(&self.peers));
        for peer in peers {
            let told = peer.notify_tool_list_changed().await.is_ok()
                && peer.notify_prompt_list_changed().await.is_ok()
                && peer.notify_resource_list_changed().await.is_ok();
            if told {
                self.add_peer(peer);
            }
        }
        let sinks = std::mem::take(&mut *lock(&self.sinks));
        for sink in sinks {
            if tell(&sink).await {
                self.add_sink(sink);
            }
        }
    }
}

/// Tells one subscriber what it subscribed to. False if it is gone.
pub async fn tell(sink: &SubscriptionSink) -> bool {
    let wants = sink.accepted().clone();
    let mut alive = true;
    if wants.tools_list_changed == Some(true) {
        alive &= sink.notify_tool_list_changed().await.is_ok();
    }
    if wants.prompts_list_changed == Some(true) {
        alive &= sink.notify_prompt_list_changed().await.is_ok();
    }
    if wants.resources_list_changed == Some(true) {
        alive &= sink.notify_resource_list_changed().await.is_ok();
    }
    alive
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
