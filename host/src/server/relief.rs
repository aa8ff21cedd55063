//! Other threads for calls, when the one that speaks the protocol has several to answer.
//!
//! To wake another thread takes as long as a small call. So a call that is alone runs where it arrived, and only those that would
//! wait for each other are shared.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{ClientNotification, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

/// So many calls are lent to each of the other threads: one runs, one waits, so that none of them waits for us.
const LENT_EACH: usize = 2;

/// More cores than that are left to others.
const MOST_THREADS: usize = 7;

/// The other threads, and what there is to do.
#[derive(Default)]
pub struct Relief {
    /// Requests without an answer.
    waiting: AtomicUsize,
    lent: AtomicUsize,
    /// Started when it is first needed.
    threads: OnceLock<Option<Threads>>,
}

struct Threads {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    count: usize,
}

impl Relief {
    /// Runs some work on another thread, if there is more to do here and less there.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
        let Some(threads) = self.threads() else { return Ok(work.await) };
        let lent = self.lent.fetch_add(1, Ordering::Relaxed);
        let _back = Back(&self.lent);
        match &threads.runtime {
            Some(runtime) if lent < threads.count * LENT_EACH => runtime.spawn(work).await,
            _ => Ok(work.await),
        }
    }

    fn threads(&self) -> Option<&Threads> {
        if self.waiting.load(Ordering::Relaxed) < 2 {
            return None;
        }
        self.threads.get_or_init(Threads::start).as_ref()
    }

    fn received(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(_) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
            }
            // Who does not want an answer may get none.
            JsonRpcMessage::Notification(said) if matches!(said.notification, ClientNotification::CancelledNotification(_)) => {
                self.answered();
            }
            _ => {}
        }
    }

    fn answered(&self) {
        let less = |waiting: usize| waiting.checked_sub(1);
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Gives back what was lent, also when the call is dropped.
struct Back<'a>(&'a AtomicUsize);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Threads {
    fn start() -> Option<Threads> {
        let count = std::thread::available_parallelism().map_or(1, |cores| (cores.get() - 1).clamp(1, MOST_THREADS));
        let started = Builder::new_multi_thread().worker_threads(count).thread_name("relief").enable_all().build();
        match started {
            Ok(runtime) => Some(Threads { runtime: Some(runtime), count }),
            Err(error) => {
                tracing::warn!(%error, "no more threads can be started; calls run one after the other");
                None
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A transport that tells what comes and goes.
pub struct Counted<T> {
    pub inner: T,
    pub relief: std::sync::Arc<Relief>,
    /// Cancelled when nothing more will come.
    pub ended: CancellationToken,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Counted<T> {
    type Error = T::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
            self.relief.answered();
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self.inner.receive().await {
            Some(message) => {
                self.relief.received(&message);
                Some(message)
            }
            None => {
                self.ended.cancel();
                None
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn hear(relief: &Relief, message: Value) {
        relief.received(&serde_json::from_value(message).expect("a message"));
    }

    async fn thread(relief: &Relief) -> String {
        relief.run(async { std::thread::current().name().unwrap_or_default().to_owned() }).await.expect("no panic")
    }

    #[tokio::test]
    async fn a_lone_call_stays_and_several_are_shared() {
        let relief = Relief::default();
        let request = || json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        hear(&relief, request());
        assert_ne!(thread(&relief).await, "relief");
        hear(&relief, request());
        assert_eq!(thread(&relief).await, "relief");
        relief.answered();
        assert_ne!(thread(&relief).await, "relief");
        // Nobody is owed more than was asked for, however often it is taken back.
        for _ in 0..5 {
            hear(&relief, cancelled.clone());
        }
        hear(&relief, request());
        hear(&relief, request());
        assert_eq!(thread(&relief).await, "relief");
    }

    #[tokio::test]
    async fn no_more_is_lent_than_can_be_done() {
        let relief = std::sync::Arc::<Relief>::default();
        for id in 0..100 {
            hear(&relief, json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        }
        let count = relief.threads().expect("threads").count;
        let (sender, _) = tokio::sync::broadcast::channel::<()>(1);
        let busy: Vec<_> = (0..count * LENT_EACH)
            .map(|_| {
                let (relief, mut end) = (relief.clone(), sender.subscribe());
                tokio::spawn(async move { relief.run(async move { end.recv().await.is_err() }).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_ne!(thread(&relief).await, "relief");
        drop(sender);
        for call in busy {
            assert!(call.await.unwrap().unwrap());
        }
        assert_eq!(thread(&relief).await, "relief");
    }
}
