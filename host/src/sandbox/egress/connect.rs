//! From a name to a connection: looked up once, checked, and connected to the address that was checked.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tokio::net::TcpStream;

use super::Network;
use super::addresses::{is_nobody, is_public};

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    #[error("the name cannot be looked up: {0}")]
    Unknown(String),
    /// Asking again with another answer is how rebinding works, so the answer is judged whole.
    #[error("it is at {0}, which is not a public address")]
    NotPublic(IpAddr),
    #[error("{0}")]
    Refused(std::io::Error),
    #[error("it took too long")]
    Timeout,
}

/// Addresses of one name that are tried.
const MOST_ADDRESSES: usize = 8;

impl Network {
    /// Connects to a host. With `private` set, any address will do but those at which nobody is.
    pub async fn connect(&self, host: &str, port: u16, private: bool, patience: Duration) -> Result<TcpStream, NoConnection> {
        let connecting = async {
            let addresses = self.look_up(host, port).await?;
            for address in &addresses {
                let ip = address.ip();
                if is_nobody(ip) || !(private || is_public(ip)) {
                    return Err(NoConnection::NotPublic(ip));
                }
            }
            let mut last = NoConnection::Unknown("it has no address".to_owned());
            for address in addresses {
                match TcpStream::connect(address).await {
                    Ok(stream) => {
                        // Requests are small and wait for their answer.
                        let _ = stream.set_nodelay(true);
                        return Ok(stream);
                    }
                    Err(error) => last = NoConnection::Refused(error),
                }
            }
            Err(last)
        };
        tokio::time::timeout(patience, connecting).await.unwrap_or(Err(NoConnection::Timeout))
    }

    async fn look_up(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, NoConnection> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let unknown = |error: std::io::Error| NoConnection::Unknown(error.to_string());
        let place = self.lookups.clone().acquire_owned().await.map_err(|_| NoConnection::Timeout)?;
        let name = host.to_owned();
        let looked_up = tokio::task::spawn_blocking(move || {
            // Held by the thread and not by the call, which may be gone long before the resolver answers.
            let _place = place;
            (name.as_str(), port).to_socket_addrs().map(|found| found.take(MOST_ADDRESSES).collect::<Vec<_>>())
        });
        looked_up.await.map_err(|error| unknown(std::io::Error::other(error)))?.map_err(unknown)
    }
}
