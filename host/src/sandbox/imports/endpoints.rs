//! `endpoints`: unix sockets and gRPC services, by the names that a person gave them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::Result;
use wasmtime::component::Resource;

use super::files::not_declared;
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::bindings::plugin::zipfs::plugin::endpoints::{Host, HostConnection, UnaryReply};
use crate::sandbox::bindings::types::Error;
use crate::sandbox::egress::Network;
use crate::sandbox::egress::grpc::{Address, Service, unreachable_service};
use crate::sandbox::guest::Guest;

/// What one call may reach.
pub struct Endpoints {
    pub unix: BTreeMap<String, Service>,
    pub grpc: BTreeMap<String, Service>,
    pub network: Arc<Network>,
    own: Arc<Semaphore>,
}

impl Endpoints {
    pub fn new(unix: BTreeMap<String, Service>, grpc: BTreeMap<String, Service>, network: Arc<Network>) -> Endpoints {
        let own = Arc::new(Semaphore::new(network.limits.requests_per_call as usize));
        Endpoints { unix, grpc, network, own }
    }

    async fn open(&self, name: String, path: PathBuf) -> std::result::Result<Connection, Failure> {
        let (limits, place) = (&self.network.limits, self.place()?);
        let patience = Duration::from_millis(limits.connect_timeout_ms);
        let stream = tokio::time::timeout(patience, UnixStream::connect(path)).await;
        let stream = stream.map_err(|_| unreachable_service(&name, &"it took too long"))?;
        let (reader, writer) = stream.map_err(|error| unreachable_service(&name, &error))?.into_split();
        let (to_send, to_receive) = (limits.request_bytes, limits.response_bytes);
        Ok(Connection { name, reader, writer: Some(writer), to_send, to_receive, _place: place })
    }

    /// Room for one more. A guest that keeps connections open keeps the service busy.
    fn place(&self) -> std::result::Result<OwnedSemaphorePermit, Failure> {
        self.own.clone().try_acquire_owned().map_err(|_| {
            let most = self.network.limits.requests_per_call;
            Failure::limit(format!("A call has at most {most} connections at once (egress.requests_per_call)."))
        })
    }
}

/// An open connection, with what may still go each way.
pub struct Connection {
    name: String,
    reader: OwnedReadHalf,
    writer: Option<OwnedWriteHalf>,
    to_send: u64,
    to_receive: u64,
    _place: OwnedSemaphorePermit,
}

/// The most that is received at once: the host holds it twice for a moment.
const MOST_AT_ONCE: u32 = 1 << 20;

impl Guest {
    fn endpoints(&self) -> std::result::Result<Arc<Endpoints>, Failure> {
        match &self.call.equipment.endpoints {
            Some(endpoints) if self.has(Capability::Endpoint) => Ok(endpoints.clone()),
            _ => {
                Err(self.call.uses.refuse(Capability::Endpoint, "a connection", Failure::from(not_declared(Capability::Endpoint))))
            }
        }
    }

    fn no_endpoint(&self, name: &str) -> Failure {
        let message = format!("There is no such endpoint for this call: {name:?}.");
        let failure = Failure::new(Class::Forbidden, "ENDPOINT_REFUSED", message)
            .suggest(format!("Who runs this host can name it: zipfs plugin grant {} endpoint={name}:ADDRESS", self.call.label));
        self.call.uses.refuse(Capability::Endpoint, name, failure)
    }
}

impl Host for Guest {
    async fn connect(&mut self, name: String) -> Result<std::result::Result<Resource<Connection>, Error>> {
        let found = self.endpoints().and_then(|endpoints| {
            let path = match endpoints.unix.get(&name) {
                Some(Service { address: Address::Unix(path), .. }) => path.clone(),
                _ => return Err(self.no_endpoint(&name)),
            };
            Ok((endpoints, path))
        });
        let connected = match found {
            Ok((endpoints, path)) => {
                self.call.uses.note(Capability::Endpoint, name.clone());
                endpoints.open(name, path).await
            }
            Err(failure) => Err(failure),
        };
        Ok(match connected {
            Ok(connection) => Ok(self.table.push(connection)?),
            Err(failure) => Err(failure.into()),
        })
    }

    async fn unary(
        &mut self,
        name: String,
        method: String,
        metadata: Vec<(String, String)>,
        message: Vec<u8>,
        timeout_ms: Option<u32>,
    ) -> Result<std::result::Result<UnaryReply, Error>> {
        let found = self.endpoints().and_then(|endpoints| {
            let service = endpoints.grpc.get(&name).cloned().ok_or_else(|| self.no_endpoint(&name))?;
            let place = endpoints.place()?;
            Ok((endpoints, service, place))
        });
        let (endpoints, service, _place) = match found {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure.into())),
        };
        self.call.uses.note(Capability::Endpoint, format!("{name}{method}"));
        let most = endpoints.network.limits.timeout_ms;
        let patience = Duration::from_millis(timeout_ms.map_or(most, |asked| u64::from(asked).min(most)));
        let called = endpoints.network.unary(&name, &service, &method, metadata, message, patience).await;
        Ok(called
            .map(|reply| UnaryReply { status: reply.status, status_message: reply.status_message, message: reply.message.into() })
            .map_err(Error::from))
    }
}

impl HostConnection for Guest {
    async fn send(&mut self, this: Resource<Connection>, bytes: Vec<u8>) -> Result<std::result::Result<(), Error>> {
        let connection = self.table.get_mut(&this)?;
        let Some(left) = connection.to_send.checked_sub(bytes.len() as u64) else {
            return Ok(Err(Failure::limit("More was sent on this connection than may be (egress.request_bytes).").into()));
        };
        connection.to_send = left;
        let Some(writer) = &mut connection.writer else {
            return Ok(Err(Failure::invalid("This connection was finished; nothing more can be sent.").into()));
        };
        let sent = writer.write_all(&bytes).await;
        Ok(sent.map_err(|error| broken(&connection.name, &error).into()))
    }

    async fn finish(&mut self, this: Resource<Connection>) -> Result<std::result::Result<(), Error>> {
        let connection = self.table.get_mut(&this)?;
        let Some(mut writer) = connection.writer.take() else { return Ok(Ok(())) };
        Ok(writer.shutdown().await.map_err(|error| broken(&connection.name, &error).into()))
    }

    async fn receive(&mut self, this: Resource<Connection>, most: u32) -> Result<std::result::Result<Vec<u8>, Error>> {
        let connection = self.table.get_mut(&this)?;
        let mut buffer = vec![0; most.clamp(1, MOST_AT_ONCE) as usize];
        let received = match connection.reader.read(&mut buffer).await {
            Ok(received) => received,
            Err(error) => return Ok(Err(broken(&connection.name, &error).into())),
        };
        let Some(left) = connection.to_receive.checked_sub(received as u64) else {
            return Ok(Err(Failure::limit("More came on this connection than may be (egress.response_bytes).").into()));
        };
        connection.to_receive = left;
        buffer.truncate(received);
        Ok(Ok(buffer))
    }

    async fn drop(&mut self, this: Resource<Connection>) -> Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

fn broken(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(Class::Internal, "ENDPOINT_FAILED", format!("The connection to {name} broke off: {error}."))
}
