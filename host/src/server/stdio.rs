//! One client over standard input and output. Nothing but the protocol is ever written to standard output.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::endpoint::Endpoint;
use super::handler::Handler;
use super::relief::{Counted, Relief};
use crate::failure::Failure;
use crate::gate::Gate;

/// What the pipe to the client holds. By default it is 64 KiB: for an answer of a megabyte each side would have to be woken ten times.
const ROOM: usize = 1 << 20;

/// How long a client that closed its end may take to read what it is still owed. Longer, and it has gone away: a server that waits
/// for somebody to read would stay for ever. Test: `protocol::stdio::who_reads_nothing_does_not_keep_the_server`.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves until the client closes the stream or the process is told to stop.
pub async fn serve_stdio(gate: Arc<Gate>, endpoint: Endpoint) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::internal(format!("The server stopped: {error}."));
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| failed(&error))?;
    endpoint.check(&gate.registry())?;
    gate.audit.flush_in_background();
    gate.observer.start(&gate.config.settings.telemetry)?;
    let observer = gate.observer.clone();
    let relief = Arc::<Relief>::default();
    let handler = Handler::new(gate, endpoint).relieved_by(relief.clone());
    handler.watch();
    // Where it is no pipe there is nothing to widen.
    let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), ROOM);
    let (input, output) = rmcp::transport::stdio_pipes();
    let gone = CancellationToken::new();
    let transport = Counted { inner: AsyncRwTransport::new_server(input, output), relief, ended: gone.clone() };
    let serving = async {
        let running = handler.serve(transport).await;
        match running {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| failed(&error)),
            // The client went away before it said anything.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(failed(&error)),
        }
    };
    let ended = tokio::select! {
        ended = serving => ended,
        _ = terminate.recv() => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
        () = async { gone.cancelled().await; tokio::time::sleep(LAST_WORDS).await } => {
            tracing::warn!("nobody reads what the client is still owed");
            Ok(())
        }
    };
    observer.stop().await;
    ended
}
