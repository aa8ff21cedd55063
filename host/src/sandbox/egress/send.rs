//! One request on its way: permitted or refused, connected, sent, and answered within its limits. Redirects are answers like any
//! other: a guest that follows one sends a new request, which is judged anew.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{Bounded, Bounds};
use super::connect::NoConnection;
use super::request;
use super::rules::Objection;
use super::tls::TlsError;
use super::{Egress, HeaderSecret, HostPattern, Scheme, Wanted};
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;

/// What keeps the connection going while the answer is read.
pub type Pump = AbortOnDropJoinHandle<()>;

/// Header lines of an answer that are read, and the bytes of all of them. Servers keep to 8 KiB as a rule.
const MOST_HEADERS: usize = 128;
const MOST_HEADER_BYTES: usize = 128 << 10;

impl Egress {
    pub async fn send(
        self: Arc<Self>,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<(Response<WasiBody>, Pump), Error> {
        let wanted = request::read(&request).map_err(|why| {
            // Not what it says: there may be a token in it.
            self.refused("a request", Failure::invalid(format!("The request cannot be sent: {why}.")));
            Error::HttpRequestUriInvalid
        })?;
        let place = wanted.place();
        let rule = self.rules.permit(&wanted).map_err(|objection| {
            self.refused(&place, self.why_not(&wanted, objection));
            Error::HttpRequestDenied
        })?;
        let private = rule.private || rule.host.address().is_some();
        // Without it the request would be another than the one that was meant, so it does not go out at all.
        if let Some(secret) = self.secrets.iter().find(|secret| secret.would_be_read(&wanted)) {
            self.refused(&place, self.in_the_open(&wanted, secret));
            return Err(Error::HttpRequestDenied);
        }
        request::write(&mut request, &wanted, &self.secrets).map_err(|_| Error::HttpRequestUriInvalid)?;

        let limits = &self.network.limits;
        let end = Instant::now() + Duration::from_millis(limits.timeout_ms);
        let options = options.unwrap_or_default();
        let own = self.own.clone().try_acquire_owned().map_err(|_| {
            self.refused(&place, too_many(limits.requests_per_call));
            Error::ConnectionLimitReached
        })?;
        let all = timeout_at(end, self.network.requests.clone().acquire_owned()).await;
        let held = (own, all.map_err(|_| Error::ConnectionTimeout)?.map_err(|_| Error::ConnectionTimeout)?);

        let patience = Duration::from_millis(limits.connect_timeout_ms);
        let patience = options.connect_timeout.map_or(patience, |asked| asked.min(patience));
        let stream = self.network.connect(&wanted.host, wanted.port, private, patience).await;
        let stream = stream.map_err(|error| self.not_connected(&wanted, error))?;
        self.uses.note(Capability::Http, place.clone());
        for secret in self.secrets.iter().filter(|secret| secret.goes_with(&wanted)) {
            self.uses.note(Capability::Secret, secret.name.clone());
        }

        let bounds = |most, setting, too_large, pause| Bounds {
            most,
            setting,
            too_large,
            end,
            pause,
            place: place.clone(),
            uses: self.uses.clone(),
        };
        let sent: fn() -> Error = || Error::HttpRequestBodySize(None);
        let sent = bounds(limits.request_bytes, "egress.request_bytes", sent, None);
        let request = request.map(|body| Bounded::new(body, sent, ()).boxed_unsync());
        let first = options.first_byte_timeout.map_or(end, |asked| end.min(Instant::now() + asked));
        let exchange = async {
            match wanted.scheme {
                Scheme::Http => exchange(stream, request).await,
                Scheme::Https => {
                    let secured = timeout(patience, self.network.tls.connect(stream, &wanted.host, false, None)).await;
                    let secured =
                        secured.map_err(|_| Error::ConnectionTimeout)?.map_err(|error| self.not_secured(&wanted, error))?;
                    exchange(secured, request).await
                }
            }
        };
        let (response, pump) = timeout_at(first, exchange).await.map_err(|_| Error::ConnectionReadTimeout)??;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let received: fn() -> Error = || Error::HttpResponseBodySize(None);
        let received = bounds(limits.response_bytes, "egress.response_bytes", received, options.between_bytes_timeout);
        // A length that is announced is judged at once, before the guest reads for nothing.
        if hyper::body::Body::size_hint(response.body()).lower() > received.most {
            return Err(received.pass_size());
        }
        Ok((response.map(|body| Bounded::new(body, received, held).boxed_unsync()), pump))
    }

    fn refused(&self, what: &str, failure: Failure) {
        tracing::info!(target: "zipfs::egress", plugin = &*self.plugin, what, code = &*failure.code, "refused");
        self.uses.refuse(Capability::Http, what, failure);
    }

    /// Who can do what about it.
    fn why_not(&self, wanted: &Wanted, objection: Objection) -> Failure {
        let refused =
            |why: &str| Failure::new(Class::Forbidden, "HTTP_REFUSED", format!("{} was not sent: {why}.", wanted.place()));
        match objection {
            Objection::NotAsked => refused("the plugin's plugin.toml does not ask for it").suggest("Ask for it under [[http]]."),
            Objection::MayChange => refused("the tool counts as one that changes nothing, and this may change something").suggest(
                "A tool that changes things elsewhere is for operators; a request that changes nothing is named under `reads`.",
            ),
            Objection::NotGranted => {
                let host = HostPattern::Exact(wanted.host.clone());
                let flag = format!("http={}://{host}:{},{}", wanted.scheme.name(), wanted.port, wanted.method);
                refused("the plugin was not granted it")
                    .suggest(format!("Who runs this host can allow it: zipfs plugin grant {} {flag}", self.plugin))
            }
        }
    }

    fn in_the_open(&self, wanted: &Wanted, secret: &HeaderSecret) -> Failure {
        let (place, name, plugin) = (wanted.place(), &secret.name, &self.plugin);
        let host = HostPattern::Exact(wanted.host.clone());
        let message = format!("{place} was not sent: the secret {name} goes with it, and everybody on the way could read it.");
        Failure::new(Class::Forbidden, "SECRET_NOT_ENCRYPTED", message)
            .suggest(format!("Use https. If it has to be: zipfs plugin grant {plugin} secret={name}@http://{host}:{}", wanted.port))
    }

    fn not_connected(&self, wanted: &Wanted, error: NoConnection) -> Error {
        let told = match error {
            NoConnection::NotPublic(_) => Error::DestinationIpProhibited,
            NoConnection::Unknown(_) => Error::DnsError { rcode: None, info_code: None },
            NoConnection::Refused(_) => Error::ConnectionRefused,
            NoConnection::Timeout => Error::ConnectionTimeout,
        };
        let failure = match &error {
            NoConnection::NotPublic(_) => {
                let host = HostPattern::Exact(wanted.host.clone());
                Failure::new(Class::Forbidden, "HTTP_ADDRESS_REFUSED", format!("{} was not sent: {error}.", wanted.place()))
                    .suggest(format!(
                        "If it is meant to be there: zipfs plugin grant {} http={}://{host}:{},private",
                        self.plugin,
                        wanted.scheme.name(),
                        wanted.port
                    ))
            }
            NoConnection::Timeout => {
                Failure::new(Class::Timeout, "HTTP_TIMEOUT", format!("{} did not answer: {error}.", wanted.place()))
            }
            _ => Failure::new(
                Class::NotFound,
                "HTTP_NOT_CONNECTED",
                format!("There is no connection for {}: {error}.", wanted.place()),
            ),
        };
        self.refused(&wanted.place(), failure);
        told
    }

    fn not_secured(&self, wanted: &Wanted, error: TlsError) -> Error {
        let told = match error {
            TlsError::Certificate(_) => Error::TlsCertificateError,
            TlsError::Roots { .. } => Error::ConfigurationError,
            TlsError::Handshake(_) => Error::TlsProtocolError,
        };
        let message = format!("There is no secure connection for {}: {error}.", wanted.place());
        self.refused(&wanted.place(), Failure::new(Class::Forbidden, "HTTP_NOT_SECURE", message));
        told
    }
}

impl Wanted {
    /// As it is noted: without path and query, in which there may be tokens.
    pub fn place(&self) -> String {
        format!("{} {}://{}:{}", self.method, self.scheme.name(), HostPattern::Exact(self.host.clone()), self.port)
    }
}

fn too_many(most: u32) -> Failure {
    Failure::limit(format!("A call has at most {most} requests on their way at once (egress.requests_per_call)."))
        .suggest("Read one answer to its end, or drop it, before asking for the next.")
}

/// Speaks HTTP/1.1 on a connection of its own: nothing of one request is left for the next.
async fn exchange<S>(stream: S, request: Request<WasiBody>) -> Result<(Response<hyper::body::Incoming>, Pump), Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_headers(MOST_HEADERS).max_buf_size(MOST_HEADER_BYTES);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
    let pump = wasmtime_wasi::runtime::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection of a guest ended");
        }
    });
    let response = sender.send_request(request).await?;
    Ok((response, pump))
}
