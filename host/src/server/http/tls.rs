//! TLS for the listener, when a certificate is given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;

/// A certificate with its key, both PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub chain: PathBuf,
    pub key: PathBuf,
}

impl Certificate {
    pub fn load_ambient(&self) -> Result<TlsAcceptor, Failure> {
        let wrong = |path: &Path, error: &dyn std::fmt::Display| {
            Failure::invalid(format!("{} cannot be used: {error}.", path.display()))
                .suggest("Give a certificate chain and its key as PEM files: --tls-cert, --tls-key.")
        };
        let chain = CertificateDer::pem_file_iter(&self.chain)
            .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
            .map_err(|error| wrong(&self.chain, &error))?;
        if chain.is_empty() {
            return Err(wrong(&self.chain, &"there is no certificate in it"));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&self.chain, &error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| wrong(&self.key, &error))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
