//! One document over HTTPS: the keys of an issuer. No redirects, no proxies, a few seconds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

/// A token waits for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The document at an address, if it is there and not larger than that.
pub async fn get(url: &str, ca_file: Option<&Path>, most: usize) -> Result<Vec<u8>, String> {
    tokio::time::timeout(PATIENCE, fetch(url, ca_file, most)).await.unwrap_or_else(|_| Err("it took too long".to_owned()))
}

async fn fetch(url: &str, ca_file: Option<&Path>, most: usize) -> Result<Vec<u8>, String> {
    let address: hyper::Uri = url.parse().map_err(|_| "the address is not valid".to_owned())?;
    let (Some(host), is_tls) = (address.host(), address.scheme_str() == Some("https")) else {
        return Err("the address names no host".to_owned());
    };
    let port = address.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let stream = TcpStream::connect((host.trim_matches(['[', ']']), port)).await.map_err(|error| error.to_string())?;
    if !is_tls {
        return exchange(stream, &address, most).await;
    }
    let name =
        ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(|_| "the host has no valid name".to_owned())?;
    let stream = TlsConnector::from(trust(ca_file)?).connect(name, stream).await.map_err(|error| error.to_string())?;
    exchange(stream, &address, most).await
}

async fn exchange<S>(stream: S, address: &hyper::Uri, most: usize) -> Result<Vec<u8>, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let said = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.map_err(said)?;
    // It ends with us, whether we come to an end or are given up.
    let _talking = AbortOnDropHandle::new(tokio::spawn(connection));
    let path = address.path_and_query().map_or("/", |path| path.as_str());
    let host = address.authority().map_or("", |authority| authority.as_str());
    let request = Request::get(path).header(HOST, host).header(ACCEPT, "application/json").body(Empty::new());
    let response = sender.send_request(request.map_err(|error| error.to_string())?).await.map_err(said)?;
    if !response.status().is_success() {
        return Err(format!("the server answered {}", response.status()));
    }
    let body = Limited::new(response.into_body(), most).collect().await.map_err(|error| error.to_string())?;
    Ok(body.to_bytes().to_vec())
}

/// Whose certificates are believed: the public ones, or those of a file alone.
fn trust(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(Arc::new(config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth()))
}
