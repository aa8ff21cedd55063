//! `zipfs serve`: binding, accepting, and an end in good order.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::authenticate::Authenticator;
use super::connections::{Connection, Connections, Unstalled};
use super::origin::Places;
use super::rate::Rates;
use super::refusal::Reason;
use super::reply::{Endless, Held};
use super::router::Router;
use super::tls::Certificate;
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
    /// For TLS.
    pub certificate: Option<Certificate>,
}

/// How long calls may go on after the server was told to stop.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// How long streams may take to end after the last call has.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until the process is told to stop.
pub async fn serve_http(gate: Arc<Gate>, serving: Serving, ready: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::internal(format!("The server stopped: {error}."));
    Endpoint::new(serving.only.as_deref(), Callers::Carried).check(&gate.registry())?;
    let tls = serving.certificate.as_ref().map(Certificate::load_ambient).transpose()?;
    let authenticator = Authenticator::of(&gate.config, tls.is_some(), serving.allow_local);
    check_exposure(&serving, authenticator.is_possible()?)?;
    take_descriptors();
    let listener = TcpListener::bind(serving.listen).await.map_err(|error| {
        Failure::internal(format!("{} cannot be listened on: {error}.", serving.listen)).suggest("Choose another with --listen.")
    })?;
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate()).map_err(|error| failed(&error))?,
        signal(SignalKind::interrupt()).map_err(|error| failed(&error))?,
    );
    gate.audit.flush_in_background();
    gate.refusals.tell_in_background();
    let refusals = gate.refusals.clone();
    gate.observer.start(&gate.config.settings.telemetry)?;
    let observer = gate.observer.clone();
    let settings = gate.config.settings.http.clone();
    let stop = CancellationToken::new();
    let router = Arc::new(Router {
        places: Places::of(address, tls.is_some(), &settings),
        authenticator,
        rates: Rates::default(),
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
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
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
            router.turn_away(Reason::Connections, None, from.ip());
            continue;
        };
        let held = Shared {
            router: router.clone(),
            settings: settings.clone(),
            calls: calls.clone(),
            last_orders: last_orders.clone(),
            tls: tls.clone(),
            from: from.ip(),
        };
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
    refusals.finish();
    observer.stop().await;
    Ok(())
}

/// Nobody but this machine is listened to without authentication.
fn check_exposure(serving: &Serving, can_authenticate: bool) -> Result<(), Failure> {
    if serving.allow_local && !serving.listen.ip().is_loopback() {
        let message = format!("{} can be reached from other machines, and --allow-local would let all of them in.", serving.listen);
        return Err(
            Failure::new(Class::Forbidden, "UNSAFE_LISTEN", message).suggest("Listen on 127.0.0.1, or leave out --allow-local.")
        );
    }
    if !serving.allow_local && !can_authenticate {
        let message = "There is no token and no other way to authenticate, so nobody could call.";
        return Err(Failure::new(Class::Forbidden, "NO_CREDENTIALS", message)
            .suggest("Make a token: zipfs token add NAME. For a server that only you can reach on this machine: --allow-local."));
    }
    if !serving.listen.ip().is_loopback() && serving.certificate.is_none() {
        tracing::warn!("tokens travel in clear: give --tls-cert and --tls-key, or put something with TLS in front");
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
    tls: Option<TlsAcceptor>,
    /// The far end.
    from: IpAddr,
}

/// A connection with its limits, and TLS if there is any.
async fn converse(stream: TcpStream, connection: Arc<Connection>, shared: Shared) {
    // Small answers would wait for the acknowledgement of what was sent before them: 40 ms each.
    let _ = stream.set_nodelay(true);
    let stream = Unstalled::new(stream, Duration::from_millis(shared.settings.stall_ms));
    let patience = Duration::from_millis(shared.settings.header_ms);
    match shared.tls.clone() {
        None => talk(stream, &connection, shared).await,
        Some(tls) => {
            let accepted = tokio::select! {
                accepted = tokio::time::timeout(patience, tls.accept(stream)) => accepted,
                () = connection.cut.cancelled() => return connection.end(),
            };
            match accepted {
                Ok(Ok(stream)) => talk(stream, &connection, shared).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS came of a connection"),
                Err(_) => tracing::debug!("a connection took too long to begin"),
            }
        }
    }
    connection.end();
}

/// One connection, request by request.
async fn talk<S>(stream: S, connection: &Arc<Connection>, shared: Shared)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Shared { router, settings, calls, last_orders, from, .. } = shared;
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(settings.header_ms))
        .max_header_size(settings.header_bytes as usize);
    let busy = connection.clone();
    let answering = router.clone();
    let service = service_fn(move |request| {
        let (router, busy, call) = (answering.clone(), busy.begin(), calls.token());
        async move {
            let reply = router.answer(request, from).await;
            // Both are let go of when the last byte is sent, or nobody wants it any more. A stream without an end holds neither: the
            // server would wait for it in vain, and whoever opens many of them would keep others out.
            let held = reply.extensions().get::<Endless>().is_none().then_some((busy, call));
            Ok::<_, Infallible>(reply.map(|body| Held { body, _held: held }))
        }
    });
    let mut conversation = std::pin::pin!(protocol.serve_connection(TokioIo::new(stream), service));
    let mut is_last = false;
    loop {
        tokio::select! {
            ended = conversation.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                    // What was no request never came to the router.
                    if error.is_parse() {
                        router.turn_away(Reason::Malformed, None, from);
                    }
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
}

/// Each connection and each file of a session is a descriptor, and the usual limit of 1024 is for programs that use `select`.
fn take_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
