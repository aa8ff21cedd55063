//! Unix sockets and gRPC services by the names that a person gave them. Capability `endpoint`.

use crate::Error;

pub use crate::bindings::plugin::zipfs::plugin::endpoints::UnaryReply;

#[cfg(target_family = "wasm")]
use crate::bindings::plugin::zipfs::plugin::endpoints as system;
#[cfg(not(target_family = "wasm"))]
use crate::testing::endpoints as system;

/// An open connection to a unix socket. Dropping it closes it.
pub struct Connection(system::Connection);

/// Connects to the socket of that name.
pub fn connect(name: &str) -> Result<Connection, Error> {
    Ok(Connection(system::connect(name)?))
}

/// Calls a method of the gRPC service of that name, as in `/package.Service/Method`. The message is encoded, and so is the answer.
pub fn unary(
    name: &str,
    method: &str,
    metadata: &[(String, String)],
    message: &[u8],
    timeout_ms: Option<u32>,
) -> Result<UnaryReply, Error> {
    Ok(system::unary(name, method, metadata, message, timeout_ms)?)
}

/// What is received at once.
const CHUNK: u32 = 64 << 10;

impl Connection {
    /// Sends all of the bytes.
    pub fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.0.send(bytes)?)
    }

    /// Says that no more will be sent.
    pub fn finish(&self) -> Result<(), Error> {
        Ok(self.0.finish()?)
    }

    /// What came; empty at the end.
    pub fn receive(&self) -> Result<Vec<u8>, Error> {
        Ok(self.0.receive(CHUNK)?)
    }

    /// Everything up to a byte, which is not part of it, or to the end: a line, for services that speak in lines. What comes behind
    /// it in the same piece is lost, so this is for one answer. More than `most` bytes are an error.
    pub fn receive_until(&self, end: u8, most: usize) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        loop {
            let chunk = self.receive()?;
            let found = chunk.iter().position(|&byte| byte == end);
            all.extend_from_slice(&chunk[..found.unwrap_or(chunk.len())]);
            if all.len() > most {
                return Err(Error::limit("ENDPOINT_TOO_LARGE", format!("The service sent more than {most} bytes.")));
            }
            if found.is_some() || chunk.is_empty() {
                return Ok(all);
            }
        }
    }
}
