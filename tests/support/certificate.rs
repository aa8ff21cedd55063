//! Certificates for servers of tests.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate that vouches for itself.
pub struct Certificate {
    pub pem: String,
    der: CertificateDer<'static>,
    key: Vec<u8>,
}

pub fn self_signed(name: &str) -> Certificate {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    Certificate { pem: made.cert.pem(), der: made.cert.der().clone(), key: made.signing_key.serialize_der() }
}

impl Certificate {
    /// A server that shows it.
    pub fn server(&self, protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
        let mut config = builder.with_single_cert(vec![self.der.clone()], key).expect("the key fits");
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}
