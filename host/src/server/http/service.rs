//! `zipfs serve`: binding, accepting, and an end in good order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::authenticate::Authenticator;
use super::connections::{Connection, Connections, Unstalled};
use super::origin::Places;
use super::reply::{Endless, Held};
use super::router::Router;
use crate::config::Http;
use crate::failure::{Class, Failure};
use crate::gate::Gate;
use crate::server::endpoint::{Callers, Endpoint};

/// What the person who starts the server decides.
#[derive(Debug, Clone)]
pub struct Serving {
    pub listen: SocketAddr,
    /// The one plugin that is served, if not all.
    pub only: Option<String>,
    /// Whether whoever reaches the port without a token is taken for the local user.
    pub allow_local: bool,
}

/// How long calls may go on after the server was told to stop.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// How long streams may take to end after the last call has.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until the process is told to stop.
pub async fn serve_http(gate: Arc<Gate>, serving: Serving, ready: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::internal(format!("The server stopped: {error}."));
    Endpoint::new(serving.only.as_deref(), Callers::Carried).check(&gate.registry())?;
    check_exposure(&serving)?;
    let listener = TcpListener::bind(serving.listen).await.map_err(|error| {
        Failure::internal(format!("{} cannot be listened on: {error}.", serving.listen)).suggest("Choose another with --listen.")
    })?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate()).map_err(|error| failed(&error))?,
        signal(SignalKind::interrupt()).map_err(|error| failed(&error))?,
    );
    gate.audit.flush_in_background();
    let settings = gate.config.settings.http.clone();
    let stop = CancellationToken::new();
    let router = Arc::new(Router {
        places: Places::of(address, false, &settings),
        authenticator: Authenticator { allow_local: serving.allow_local },
        only: serving.only.as_deref().map(Arc::from),
        stop: stop.clone(),
        endpoints: Default::default(),
        gate,
    });
    let (connections, last_orders) = (Arc::<Connections>::default(), CancellationToken::new());
    let (conversations, calls) = (TaskTracker::new(), TaskTracker::new());
    ready(address);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // Descriptors have run out, or the client left already. Neither is a reason to stop, nor to spin.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Full of requests: the kernel tells the client at once, which is better than a wait that it cannot see.
        let Some(connection) = connections.admit(settings.connections as usize) else {
            tracing::warn!("refused a connection: all are busy (http.connections)");
            continue;
        };
        let held =
            Shared { router: router.clone(), settings: settings.clone(), calls: calls.clone(), last_orders: last_orders.clone() };
        conversations.spawn(converse(stream, connection, held));
    }
    drop(listener);
    last_orders.cancel();
    calls.close();
    if tokio::time::timeout(LAST_CALLS, calls.wait()).await.is_err() {
        tracing::warn!(calls = calls.len(), "calls were still running and were ended");
    }
    stop.cancel();
    conversations.close();
    let _ = tokio::time::timeout(LAST_WORDS, conversations.wait()).await;
    Ok(())
}

/// Nobody but this machine is listened to without authentication.
fn check_exposure(serving: &Serving) -> Result<(), Failure> {
    if serving.allow_local && !serving.listen.ip().is_loopback() {
        let message = format!("{} can be reached from other machines, and --allow-local would let all of them in.", serving.listen);
        return Err(
            Failure::new(Class::Forbidden, "UNSAFE_LISTEN", message).suggest("Listen on 127.0.0.1, or leave out --allow-local.")
        );
    }
    if !serving.allow_local {
        let message = "There is no token and no other way to authenticate, so nobody could call.";
        return Err(Failure::new(Class::Forbidden, "NO_CREDENTIALS", message)
            .suggest("For a server that only you can reach on this machine: --allow-local."));
    }
    Ok(())
}

/// What every connection needs.
struct Shared {
    router: Arc<Router>,
    settings: Http,
    /// Requests that are being answered and will have been at some time.
    calls: TaskTracker,
    last_orders: CancellationToken,
}

/// One connection, request by request.
async fn converse(stream: TcpStream, connection: Arc<Connection>, shared: Shared) {
    let Shared { router, settings, calls, last_orders } = shared;
    // Small answers would wait for the acknowledgement of what was sent before them: 40 ms each.
    let _ = stream.set_nodelay(true);
    let stream = Unstalled::new(stream, Duration::from_millis(settings.stall_ms));
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(settings.header_ms))
        .max_header_size(settings.header_bytes as usize);
    let busy = connection.clone();
    let service = service_fn(move |request| {
        let (router, busy, call) = (router.clone(), busy.begin(), calls.token());
        async move {
            let reply = router.answer(request).await;
            let call = reply.extensions().get::<Endless>().is_none().then_some(call);
            // Both are let go of when the last byte is sent, or nobody wants it any more.
            Ok::<_, Infallible>(reply.map(|body| Held { body, _held: (busy, call) }))
        }
    });
    let mut conversation = std::pin::pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let mut is_last = false;
    loop {
        tokio::select! {
            ended = conversation.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                break;
            }
            () = connection.cut.cancelled() => break,
            () = last_orders.cancelled(), if !is_last => {
                is_last = true;
                conversation.as_mut().graceful_shutdown();
            }
        }
    }
    connection.end();
}
