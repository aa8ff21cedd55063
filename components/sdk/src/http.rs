//! Requests to hosts that somebody granted. Capability `http`.
//!
//! ```no_run
//! # fn weather() -> Result<serde_json::Value, zipfs_sdk::Error> {
//! use zipfs_sdk::http;
//!
//! let answer = http::get("https://api.example.com/weather?at=Prague").header("accept", "application/json").send()?;
//! let weather: serde_json::Value = answer.success()?.json()?;
//! # Ok(weather)
//! # }
//! ```
//!
//! The tool declares `.uses("http")`, `plugin.toml` asks for the host under `[[http]]`, and a person grants it. A secret that the
//! manifest gives a header is put in by the host: there is nothing to do here, and nothing to leak. Redirects are answers like any
//! other; following one is another request, to a host that has to be granted too.
//!
//! In a unit test requests go to whatever [`Bench::http`](crate::testing::Bench::http) was given.

mod body;

#[cfg(not(target_family = "wasm"))]
#[path = "http/native.rs"]
mod system;
#[cfg(target_family = "wasm")]
#[path = "http/wasi.rs"]
mod system;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
pub use body::Body;

/// A request on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// As in `GET`.
    pub method: String,
    /// The whole address, `https://` included.
    pub url: String,
    /// Names and values, as they were added.
    pub headers: Vec<(String, String)>,
    /// What is sent; empty for nothing.
    pub body: Vec<u8>,
    /// How long to wait for the answer to begin.
    pub timeout: Option<Duration>,
}

/// A `GET` of an address.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// A `POST` to an address.
pub fn post(url: impl Into<String>) -> Request {
    Request::new("POST", url)
}

/// A `PUT` to an address.
pub fn put(url: impl Into<String>) -> Request {
    Request::new("PUT", url)
}

/// A `DELETE` of an address.
pub fn delete(url: impl Into<String>) -> Request {
    Request::new("DELETE", url)
}

impl Request {
    /// A request with any method.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Request {
        Request { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new(), timeout: None }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Request {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sends these bytes.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    /// Sends a value as JSON.
    pub fn json(mut self, value: &impl Serialize) -> Result<Request, Error> {
        self.body = serde_json::to_vec(value)
            .map_err(|error| Error::internal("INTERNAL_ERROR", format!("The body is no JSON: {error}.")))?;
        Ok(self.header("content-type", "application/json"))
    }

    /// Waits at most so long for the answer to begin. The host has a limit of its own.
    pub fn timeout(mut self, timeout: Duration) -> Request {
        self.timeout = Some(timeout);
        self
    }

    /// Sends it, and waits until the answer begins.
    ///
    /// Fails with the host's own words where it refused: `HTTP_REFUSED` for what was not granted, `HTTP_ADDRESS_REFUSED` for a name
    /// that leads into somebody's network; else `HTTP_FAILED`.
    pub fn send(&self) -> Result<Response, Error> {
        system::send(self)
    }
}

/// An answer. Its body is read when it is asked for.
#[derive(Debug)]
pub struct Response {
    /// 200 and the like. An answer that says no is an answer; see [`success`](Response::success).
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// What is still to be read.
    pub body: Body,
    url: String,
}

/// What [`Response::bytes`] and its kind take at most. More is read piece by piece from [`Response::body`].
const MOST_AT_ONCE: usize = 16 << 20;

impl Response {
    /// An answer for a unit test.
    pub fn new(status: u16, headers: Vec<(String, String)>, body: impl Into<Vec<u8>>) -> Response {
        Response { status, headers, body: Body::of(body.into()), url: String::new() }
    }

    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Whether the status is one of the two hundreds.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The answer if it is a success, else an error with the status in its details.
    pub fn success(self) -> Result<Response, Error> {
        if self.is_success() {
            return Ok(self);
        }
        let message = format!("{} answered with status {}.", self.url, self.status);
        Err(Error::internal("HTTP_STATUS", message).details(serde_json::json!({"status": self.status})))
    }

    /// The whole body, up to 16 MiB.
    pub fn bytes(mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        loop {
            let chunk = self.body.read_chunk()?;
            if chunk.is_empty() {
                return Ok(bytes);
            }
            if bytes.len() + chunk.len() > MOST_AT_ONCE {
                return Err(Error::limit(
                    "HTTP_TOO_LARGE",
                    format!("The answer of {} is larger than {MOST_AT_ONCE} bytes.", self.url),
                ));
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    /// The whole body as text.
    pub fn text(self) -> Result<String, Error> {
        let url = self.url.clone();
        String::from_utf8(self.bytes()?).map_err(|_| Error::internal("HTTP_FAILED", format!("The answer of {url} is not text.")))
    }

    /// The whole body, read as JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, Error> {
        let url = self.url.clone();
        serde_json::from_slice(&self.bytes()?).map_err(|error| {
            Error::internal("HTTP_FAILED", format!("The answer of {url} is not the JSON that was expected: {error}."))
        })
    }
}
