//! TLS as clients: rustls with ring, the certificates that browsers trust, and those that the person who runs this host adds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::hosts::HostPattern;

/// Made on the first connection that needs it: parsing the roots takes a millisecond that no other call should pay.
pub struct Tls {
    extra_roots: Option<PathBuf>,
    made: Mutex<HashMap<Key, Arc<ClientConfig>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    http2: bool,
    /// Certificates in place of the public ones.
    only: Option<PathBuf>,
}

/// Why there is no such connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("the certificates in {} cannot be used: {why}", .path.display())]
    Roots { path: PathBuf, why: String },
    #[error("the certificate of the server is not accepted: {0}")]
    Certificate(std::io::Error),
    #[error("{0}")]
    Handshake(std::io::Error),
}

impl Tls {
    pub fn new(extra_roots: Option<PathBuf>) -> Tls {
        Tls { extra_roots, made: Mutex::default() }
    }

    /// Speaks TLS on a connection, with a server that proves to be `host`.
    pub async fn connect(
        &self,
        stream: TcpStream,
        host: &str,
        http2: bool,
        only: Option<&Path>,
    ) -> Result<TlsStream<TcpStream>, TlsError> {
        let config = self.config(&Key { http2, only: only.map(Path::to_owned) })?;
        let name = match HostPattern::Exact(host.to_owned()).address() {
            Some(address) => ServerName::from(address),
            None => ServerName::try_from(host.to_owned()).map_err(|error| TlsError::Handshake(std::io::Error::other(error)))?,
        };
        tokio_rustls::TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
            let certificate = error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>())
                .is_some_and(|error| matches!(error, rustls::Error::InvalidCertificate(_)));
            if certificate { TlsError::Certificate(error) } else { TlsError::Handshake(error) }
        })
    }

    fn config(&self, key: &Key) -> Result<Arc<ClientConfig>, TlsError> {
        let mut made = self.made.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(config) = made.get(key) {
            return Ok(config.clone());
        }
        let mut roots = rustls::RootCertStore::empty();
        match &key.only {
            Some(path) => add(&mut roots, path)?,
            None => {
                roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
                if let Some(path) = &self.extra_roots {
                    add(&mut roots, path)?;
                }
            }
        }
        // Named here, since another crate of the process may have installed another provider for everybody.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| TlsError::Handshake(std::io::Error::other(error)))?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![if key.http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let config = Arc::new(config);
        made.insert(key.clone(), config.clone());
        Ok(config)
    }
}

fn add(roots: &mut rustls::RootCertStore, path: &Path) -> Result<(), TlsError> {
    let wrong = |why: String| TlsError::Roots { path: path.to_owned(), why };
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    let mut count = 0;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
        count += 1;
    }
    match count {
        0 => Err(wrong("there is none in it".to_owned())),
        _ => Ok(()),
    }
}
