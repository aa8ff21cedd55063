//! One gRPC call, once there and once back, over HTTP/2. Messages stay as the guest encoded them.

use std::path::PathBuf;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use wasmtime_wasi_http::io::TokioIo;

use super::{HostPattern, Network, Scheme, normal_host, split_port};
use crate::failure::{Class, Failure};

/// Where a service is, as the grant says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub address: Address,
    /// Certificates that it is trusted by, in place of the public ones.
    pub ca: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp { scheme: Scheme, host: String, port: u16 },
}

impl Address {
    /// `/run/x.sock`, `http://host:port` or `https://host:port`.
    pub fn parse(text: &str) -> Result<Address, String> {
        if text.starts_with('/') {
            return Ok(Address::Unix(text.into()));
        }
        let (scheme, authority) = match text.split_once("://") {
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            _ => return Err(format!("{text:?} is not the address of a service")),
        };
        let (host, port) = split_port(authority)?;
        Ok(Address::Tcp { scheme, host: normal_host(host)?, port: port.ok_or("the address needs a port")? })
    }
}

/// What came back.
#[derive(Debug)]
pub struct UnaryReply {
    pub status: u32,
    pub status_message: String,
    pub message: Bytes,
}

/// Headers of gRPC and HTTP that a guest does not set.
const OWN_HEADERS: [&str; 8] =
    ["content-type", "te", "user-agent", "host", "connection", "transfer-encoding", "upgrade", "content-length"];
const MOST_METADATA: usize = 32;
/// In front of each message: a flag for compression, and its length.
const PREFIX: usize = 5;

impl Network {
    pub async fn unary(
        &self,
        name: &str,
        service: &Service,
        method: &str,
        metadata: Vec<(String, String)>,
        message: Vec<u8>,
        patience: Duration,
    ) -> Result<UnaryReply, Failure> {
        if message.len() as u64 > self.limits.request_bytes {
            let most = self.limits.request_bytes;
            return Err(Failure::limit(format!("The message to {name} is larger than {most} bytes (egress.request_bytes).")));
        }
        let request = build(service, method, metadata, &message)?;
        let calling = async {
            match &service.address {
                Address::Unix(path) => {
                    let stream = UnixStream::connect(path).await.map_err(|error| unreachable_service(name, &error))?;
                    self.exchange(name, stream, request).await
                }
                Address::Tcp { scheme, host, port } => {
                    let limit = Duration::from_millis(self.limits.connect_timeout_ms);
                    // A person typed this very address, so it may be one of this machine or network.
                    let stream = self.connect(host, *port, true, limit).await.map_err(|error| unreachable_service(name, &error))?;
                    match scheme {
                        Scheme::Http => self.exchange(name, stream, request).await,
                        Scheme::Https => {
                            let secured = self.tls.connect(stream, host, true, service.ca.as_deref()).await;
                            self.exchange(name, secured.map_err(|error| unreachable_service(name, &error))?, request).await
                        }
                    }
                }
            }
        };
        tokio::time::timeout(patience, calling).await.unwrap_or_else(|_| {
            Err(Failure::new(
                Class::Timeout,
                "TIMEOUT",
                format!("The service {name} did not answer in {} ms.", patience.as_millis()),
            ))
        })
    }

    async fn exchange<S>(&self, name: &str, stream: S, request: Request<Full<Bytes>>) -> Result<UnaryReply, Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let failed = |error: hyper::Error| broken(name, &error.to_string());
        let mut builder = hyper::client::conn::http2::Builder::new(OnRuntime);
        builder.max_header_list_size(64 << 10);
        let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // Ends with this function, whatever the service does.
        let _pump = wasmtime_wasi::runtime::spawn(async move {
            let _ = connection.await;
        });
        let response = sender.send_request(request).await.map_err(failed)?;
        if response.status() != http::StatusCode::OK {
            return Err(broken(name, &format!("it answered with HTTP status {}", response.status().as_u16())));
        }
        let (head, mut body) = response.into_parts();
        let most = self.limits.response_bytes.saturating_add(PREFIX as u64) as usize;
        let (mut bytes, mut trailers) = (BytesMut::new(), None);
        while let Some(frame) = body.frame().await {
            match frame.map_err(failed)?.into_data() {
                Ok(data) if bytes.len() + data.len() > most => {
                    return Err(Failure::limit(format!(
                        "The answer of {name} is larger than {} bytes (egress.response_bytes).",
                        most - PREFIX
                    )));
                }
                Ok(data) => bytes.put(data),
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        // A service that has nothing to say puts its status into the head.
        read(name, trailers.as_ref().unwrap_or(&head.headers), bytes.freeze())
    }
}

fn build(
    service: &Service,
    method: &str,
    metadata: Vec<(String, String)>,
    message: &[u8],
) -> Result<Request<Full<Bytes>>, Failure> {
    let invalid = |why: String| Failure::invalid(why);
    let is_method = method.strip_prefix('/').is_some_and(|rest| {
        let parts: Vec<&str> = rest.split('/').collect();
        parts.len() == 2
            && parts
                .iter()
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_')))
    });
    if !is_method {
        return Err(invalid(format!("{method:?} is not a method, as in \"/package.Service/Method\".")));
    }
    let (scheme, authority) = match &service.address {
        Address::Unix(_) => ("http", "localhost".to_owned()),
        Address::Tcp { scheme, host, port } => (scheme.name(), format!("{}:{port}", HostPattern::Exact(host.clone()))),
    };
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(method).build();
    let uri = uri.map_err(|error| invalid(format!("{method:?} cannot be called: {error}.")))?;
    let mut body = BytesMut::with_capacity(PREFIX + message.len());
    body.put_u8(0);
    body.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    body.put_slice(message);
    let mut request = Request::post(uri).body(Full::new(body.freeze())).map_err(|error| invalid(error.to_string()))?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    if metadata.len() > MOST_METADATA {
        return Err(Failure::limit(format!("A call has at most {MOST_METADATA} entries of metadata.")));
    }
    for (name, value) in metadata {
        let (parsed, value) = (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value));
        match (parsed, value) {
            (Ok(parsed), Ok(value)) if !parsed.as_str().starts_with("grpc-") && !OWN_HEADERS.contains(&parsed.as_str()) => {
                headers.append(parsed, value);
            }
            _ => return Err(invalid(format!("{name:?} cannot be sent as metadata."))),
        }
    }
    Ok(request)
}

fn read(name: &str, status: &HeaderMap, bytes: Bytes) -> Result<UnaryReply, Failure> {
    let text = |key: &str| status.get(key).and_then(|value| value.to_str().ok());
    let code = text("grpc-status").and_then(|code| code.parse().ok()).ok_or_else(|| broken(name, "it gave no status"))?;
    let status_message = unescape(text("grpc-message").unwrap_or_default());
    let message = match bytes.len() {
        0 => Bytes::new(),
        length => {
            let framed = length >= PREFIX && bytes[0] == 0 && {
                let announced = u32::from_be_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
                announced as usize == length - PREFIX
            };
            match framed {
                true => bytes.slice(PREFIX..),
                false => return Err(broken(name, "its answer is not one message, or is compressed")),
            }
        }
    };
    Ok(UnaryReply { status: code, status_message, message })
}

/// `grpc-message` has percent signs for what a header cannot hold.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn unreachable_service(name: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Class::NotFound, "ENDPOINT_UNREACHABLE", format!("The service {name} cannot be reached: {error}."))
        .suggest("See whether it runs, and whether the address in the grant is its own.")
}

fn broken(name: &str, why: &str) -> Failure {
    Failure::new(Class::Internal, "ENDPOINT_FAILED", format!("The service {name} broke off: {why}."))
}

/// hyper's small tasks run where ours do.
#[derive(Clone)]
struct OnRuntime;

impl<F> hyper::rt::Executor<F> for OnRuntime
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        tokio::spawn(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        assert_eq!(Address::parse("/run/x.sock").unwrap(), Address::Unix("/run/x.sock".into()));
        assert!(matches!(Address::parse("https://[::1]:6066").unwrap(), Address::Tcp { port: 6066, .. }));
        for odd in ["", "run/x.sock", "https://host", "ftp://host:1", "https://u@host:1", "https://host:1/path"] {
            assert!(Address::parse(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn guests_do_not_choose_what_grpc_is_made_of() {
        let service = Service { address: Address::Unix("/x".into()), ca: None };
        let build = |method: &str, name: &str, value: &str| super::build(&service, method, vec![(name.into(), value.into())], b"");
        assert!(build("/a.B/C", "x-request-id", "1").is_ok());
        for (name, value) in [("grpc-timeout", "1S"), ("te", "x"), (":path", "/"), ("host", "evil"), ("x", "a\r\nb: c"), ("", "x")]
        {
            assert!(build("/a.B/C", name, value).is_err(), "{name}");
        }
        for method in ["", "a.B/C", "/a.B", "/a.B/C/D", "/a.B/C?x", "//C", "http://evil/C", "/a.B/../C"] {
            assert!(build(method, "x", "1").is_err(), "{method}");
        }
    }

    #[test]
    fn answers_are_one_message() {
        let status =
            |code: &'static str| HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), HeaderValue::from_static(code))]);
        assert_eq!(read("x", &status("0"), Bytes::from_static(b"\0\0\0\0\x02hi")).unwrap().message, "hi");
        assert_eq!(read("x", &status("5"), Bytes::new()).unwrap().status, 5);
        for odd in [&b"\0\0\0\0\x03hi"[..], b"\x01\0\0\0\x02hi", b"\0\0", b"\0\0\0\0\x01hi"] {
            assert!(read("x", &status("0"), Bytes::from_static(odd)).is_err());
        }
        assert!(read("x", &HeaderMap::new(), Bytes::new()).is_err());
        assert_eq!(unescape("no%20such%2"), "no such%2");
    }
}
