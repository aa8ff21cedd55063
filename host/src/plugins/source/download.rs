//! Bytes over HTTP: encrypted unless they stay on this machine, followed only to where that still holds, counted as they come.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};

use super::{Wanted, too_large};
use crate::failure::{Class, Failure};

/// A server that cannot be reached is not waited for as long as one that sends.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that stops in the middle. Test: `functional::plugins::https::a_server_that_stalls`.
const STALL: Duration = Duration::from_secs(15);
/// Registries send to storage, storage to its mirror.
const MOST_REDIRECTS: usize = 5;

/// A client that goes nowhere but where [`may_go`] says.
pub(super) fn client(allow_http: bool) -> Result<Client, Failure> {
    install_cryptography();
    let policy = Policy::custom(move |attempt| {
        let from_encrypted = attempt.previous().iter().any(|url| url.scheme() == "https");
        match may_go(attempt.url(), allow_http) {
            Err(failure) => attempt.error(failure),
            Ok(()) if from_encrypted && attempt.url().scheme() != "https" => {
                let message = format!("It leads from https to {}, which is not encrypted.", attempt.url());
                attempt.error(Failure::new(Class::Forbidden, "REDIRECT_REFUSED", message))
            }
            Ok(()) if attempt.previous().len() > MOST_REDIRECTS => attempt.error(Failure::new(
                Class::Limit,
                "REDIRECT_REFUSED",
                format!("It leads on more than {MOST_REDIRECTS} times."),
            )),
            Ok(()) => attempt.follow(),
        }
    });
    Client::builder()
        .user_agent(concat!("zipfs/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .read_timeout(STALL)
        .redirect(policy)
        .build()
        .map_err(|error| Failure::internal(format!("No connection can be made: {}.", chain(&error))))
}

/// Encrypted, or on this machine, or explicitly allowed.
pub(super) fn may_go(url: &Url, allow_http: bool) -> Result<(), Failure> {
    match url.scheme() {
        "https" => Ok(()),
        "http" if allow_http || is_loopback(url.host_str().unwrap_or_default()) => Ok(()),
        "http" => Err(Failure::new(
            Class::Forbidden,
            "NOT_ENCRYPTED",
            format!("{url} is not encrypted: anybody on the way could change it."),
        )
        .suggest("Use https, or --allow-http if you know what is on the way.")),
        other => Err(Failure::new(Class::Forbidden, "REDIRECT_REFUSED", format!("{url} is not an address of the web ({other}:)."))),
    }
}

/// By what it says, not by what a name server says of it.
pub(super) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Sends a request. Statuses are looked at by the caller.
pub(super) async fn send(request: RequestBuilder) -> Result<Response, Failure> {
    request.send().await.map_err(failed)
}

/// The body of an answer, of which at most so much is taken.
pub(super) async fn body(mut response: Response, most: u64, what: &str, wanted: &Wanted<'_>) -> Result<Vec<u8>, Failure> {
    let announced = response.content_length();
    if announced.is_some_and(|length| length > most) {
        return Err(too_large(what, most));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if (bytes.len() + chunk.len()) as u64 > most {
            return Err(too_large(what, most));
        }
        bytes.extend_from_slice(&chunk);
        (wanted.watch)(bytes.len() as u64, announced);
    }
    Ok(bytes)
}

/// What a status that is no success means.
pub(super) fn refused(what: &str, status: StatusCode) -> Failure {
    match status {
        StatusCode::NOT_FOUND => Failure::new(Class::NotFound, "PLUGIN_NOT_FOUND", format!("There is no {what} ({status}).")),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Failure::new(Class::Forbidden, "NOT_AUTHORIZED", format!("{what} is not for everybody ({status})."))
        }
        _ => Failure::new(Class::Internal, "DOWNLOAD_FAILED", format!("{what} did not come: the server says {status}."))
            .suggest("Try again later."),
    }
}

/// A refusal of ours travels through the client as the source of its own error.
fn failed(error: reqwest::Error) -> Failure {
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.clone();
        }
        source = cause.source();
    }
    let shown = chain(&error);
    if error.is_timeout() {
        return Failure::new(Class::Timeout, "DOWNLOAD_TIMEOUT", format!("The download stands still: {shown}."))
            .suggest("Try again.");
    }
    Failure::new(Class::Internal, "DOWNLOAD_FAILED", format!("The download failed: {shown}."))
        .suggest("Nothing was kept. Check the address and the connection, and try again.")
}

/// The error with its causes, of which only the last says what happened.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

fn install_cryptography() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // An error means that there is one already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
