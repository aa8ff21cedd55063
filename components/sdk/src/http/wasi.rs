//! Requests through `wasi:http`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::{InputStream, StreamError};

use super::{Body, Request, Response};
use crate::Error;

/// A body that comes from the network. Fields are dropped from the top: the stream is part of the body, which is part of the answer.
#[derive(Debug)]
pub(super) struct Stream {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    url: String,
}

/// Pieces in which bodies are written; a stream takes no more at once.
const PIECE: usize = 4096;
/// Pieces in which they are read.
const CHUNK: u64 = 64 << 10;

pub(super) fn send(request: &Request) -> Result<Response, Error> {
    let url = &request.url;
    let outgoing = prepare(request)?;
    let body = outgoing.body().map_err(|()| odd(url, "its length is not a number"))?;
    let options = RequestOptions::new();
    if let Some(timeout) = request.timeout {
        let nanoseconds = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let _ = options.set_connect_timeout(Some(nanoseconds));
        let _ = options.set_first_byte_timeout(Some(nanoseconds));
    }
    let future = handle(outgoing, Some(options)).map_err(|code| failed(url, &code))?;
    // If the request was refused nobody reads this; why, the answer says.
    if write(&body, &request.body).is_ok() {
        OutgoingBody::finish(body, None).map_err(|code| failed(url, &code))?;
    }
    future.subscribe().block();
    let answer = match future.get() {
        Some(Ok(answer)) => answer,
        _ => return Err(Error::internal("HTTP_FAILED", format!("There is no answer of {url}."))),
    };
    let response = answer.map_err(|code| failed(url, &code))?;
    let headers = response.headers().entries();
    let headers = headers.into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    let status = response.status();
    let body = response.consume().map_err(|()| odd(url, "its answer has no body"))?;
    let stream = body.stream().map_err(|()| odd(url, "its answer has no body"))?;
    let stream = Stream { stream, _body: body, _response: response, url: url.clone() };
    Ok(Response { status, headers, body: Body::streaming(stream), url: url.clone() })
}

impl Stream {
    pub(super) fn read_chunk(&mut self) -> Result<Vec<u8>, Error> {
        loop {
            match self.stream.blocking_read(CHUNK) {
                Ok(chunk) if chunk.is_empty() => {}
                Ok(chunk) => return Ok(chunk),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(StreamError::LastOperationFailed(error)) => {
                    let why = error.to_debug_string();
                    return Err(crate::grants::last_refusal().unwrap_or_else(|| {
                        Error::internal("HTTP_FAILED", format!("The answer of {} broke off: {why}.", self.url))
                    }));
                }
            }
        }
    }
}

fn prepare(request: &Request) -> Result<OutgoingRequest, Error> {
    let url = &request.url;
    let headers = Fields::new();
    for (name, value) in &request.headers {
        let added = headers.append(name, value.as_bytes());
        added.map_err(|error| odd(url, &format!("the header {name:?} cannot be set ({error})")))?;
    }
    let says_length = !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS") || !request.body.is_empty();
    if says_length && !headers.has("content-length") {
        let length = request.body.len().to_string();
        headers.append("content-length", length.as_bytes()).map_err(|error| odd(url, &error.to_string()))?;
    }
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
        _ => return Err(odd(url, "it does not begin with https:// or http://")),
    };
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    let outgoing = OutgoingRequest::new(headers);
    let method = match request.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    };
    outgoing.set_method(&method).map_err(|()| odd(url, "its method is none"))?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| odd(url, "its scheme is none"))?;
    outgoing.set_authority(Some(authority)).map_err(|()| odd(url, "its host is none"))?;
    outgoing.set_path_with_query(Some(&target)).map_err(|()| odd(url, "its path is none"))?;
    Ok(outgoing)
}

fn write(body: &OutgoingBody, bytes: &[u8]) -> Result<(), ()> {
    let stream = body.write()?;
    for piece in bytes.chunks(PIECE) {
        stream.blocking_write_and_flush(piece).map_err(|_| ())?;
    }
    Ok(())
}

fn odd(url: &str, why: &str) -> Error {
    Error::invalid("HTTP_FAILED", format!("{url:?} cannot be asked: {why}."))
}

/// The host's own words, where it has some; the codes of WASI say little.
fn failed(url: &str, code: &ErrorCode) -> Error {
    let is_the_hosts = matches!(
        code,
        ErrorCode::HttpRequestDenied
            | ErrorCode::DestinationIpProhibited
            | ErrorCode::HttpRequestUriInvalid
            | ErrorCode::DnsError(_)
            | ErrorCode::ConnectionRefused
            | ErrorCode::ConnectionTimeout
            | ErrorCode::ConnectionLimitReached
            | ErrorCode::TlsCertificateError
            | ErrorCode::TlsProtocolError
            | ErrorCode::ConfigurationError
            | ErrorCode::HttpResponseBodySize(_)
            | ErrorCode::HttpRequestBodySize(_)
    );
    match is_the_hosts.then(crate::grants::last_refusal).flatten() {
        Some(refusal) => refusal,
        None => {
            let (class, code_name) = match code {
                ErrorCode::HttpResponseBodySize(_) | ErrorCode::HttpRequestBodySize(_) => (crate::Class::Limit, "HTTP_TOO_LARGE"),
                ErrorCode::ConnectionReadTimeout | ErrorCode::HttpResponseTimeout | ErrorCode::ConnectionTimeout => {
                    (crate::Class::Timeout, "HTTP_TIMEOUT")
                }
                _ => (crate::Class::Internal, "HTTP_FAILED"),
            };
            Error::new(class, code_name, format!("{url} could not be asked: {code}."))
        }
    }
}
