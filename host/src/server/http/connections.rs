//! Connections: how many there are, how long they may be idle, and which makes room for the next.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// All open connections.
#[derive(Debug, Default)]
pub struct Connections {
    next: AtomicU64,
    /// By age.
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
}

/// What is known of one connection while it is open.
#[derive(Debug)]
pub struct Connection {
    number: u64,
    /// Requests that are being answered.
    busy: AtomicU32,
    /// When the last one was answered, or the connection was made.
    idle_since: Mutex<Instant>,
    /// Ends it.
    pub cut: CancellationToken,
    all: Arc<Connections>,
}

impl Connections {
    /// Makes room for a connection, if need be by ending the one that has been idle longest: whoever opens thousands and says
    /// nothing must not keep others out. `None` if all are busy. Test: `security::serve::slow::idle_connections_make_room`.
    pub fn admit(self: &Arc<Connections>, most: usize) -> Option<Arc<Connection>> {
        let mut open = self.lock();
        if open.len() >= most {
            let idle = open.values().filter(|one| one.busy.load(Ordering::Acquire) == 0 && !one.cut.is_cancelled());
            let oldest = idle.min_by_key(|one| one.idle_since())?;
            tracing::debug!(number = oldest.number, "an idle connection makes room");
            oldest.cut.cancel();
            let number = oldest.number;
            open.remove(&number);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection {
            number,
            busy: AtomicU32::new(0),
            idle_since: Mutex::new(Instant::now()),
            cut: CancellationToken::new(),
            all: self.clone(),
        });
        open.insert(number, connection.clone());
        Some(connection)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Connection {
    /// Notes that a request is being answered, until what is returned is dropped.
    pub fn begin(self: &Arc<Connection>) -> Busy {
        self.busy.fetch_add(1, Ordering::AcqRel);
        Busy(self.clone())
    }

    /// Forgets a connection that has ended.
    pub fn end(&self) {
        self.all.lock().remove(&self.number);
    }

    fn idle_since(&self) -> Instant {
        *self.idle_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct Busy(Arc<Connection>);

impl Drop for Busy {
    fn drop(&mut self) {
        *self.0.idle_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A stream whose far end has to take what is sent to it: one that asks for a large answer and does not read it would hold the
/// answer, and its place, for ever. Test: `security::serve::slow::who_does_not_read_is_left`.
pub struct Unstalled<S> {
    stream: S,
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Unstalled<S> {
    pub fn new(stream: S, patience: Duration) -> Unstalled<S> {
        Unstalled { stream, patience, stalled: None }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let patience = self.patience;
        let sleep = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unstalled<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unstalled<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
