//! Answers, and what all of them have in common.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// A body that may fail while it is sent, as a file does.
pub type Body = BoxBody<Bytes, std::io::Error>;

pub type Reply = Response<Body>;

/// A body that holds something until it is sent.
pub struct Held<T> {
    pub body: Body,
    pub _held: T,
}

impl<T: Unpin> hyper::body::Body for Held<T> {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Marks an answer that only ends when the client or the server goes: a stream of what may still come.
#[derive(Debug, Clone, Copy)]
pub struct Endless;

pub fn json(status: StatusCode, value: &Value) -> Reply {
    let mut reply = bytes(status, Bytes::from(value.to_string()));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// A refusal that is not part of any protocol above HTTP: `{"error": "Not found"}`.
pub fn refuse(status: StatusCode, why: &str) -> Reply {
    let mut reply = json(status, &json!({"error": why}));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// The same, and the connection ends with it: what follows on it cannot be trusted to be a request.
pub fn hang_up(status: StatusCode, why: &str) -> Reply {
    let mut reply = refuse(status, why);
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

pub fn not_found() -> Reply {
    refuse(StatusCode::NOT_FOUND, "Not found")
}

pub fn wrong_method(allowed: &'static str) -> Reply {
    let mut reply = refuse(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    reply
}

pub fn bytes(status: StatusCode, bytes: Bytes) -> Reply {
    let mut reply = Response::new(Full::new(bytes).map_err(|never| match never {}).boxed());
    *reply.status_mut() = status;
    reply
}

pub fn text(status: StatusCode, kind: &'static str, text: String) -> Reply {
    let mut reply = bytes(status, Bytes::from(text));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}
