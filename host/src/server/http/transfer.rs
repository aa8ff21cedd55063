//! `POST /archives` and `GET /archives/{session}`: an archive comes as it is and becomes a session, and goes back as it was synced.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use tokio::task::block_in_place;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::body::{self, Bounds};
use super::carried;
use super::reply::{self, Reply};
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Gate, Principal, Transport};

/// Read at once from a file that is sent.
const PIECE: usize = 64 << 10;

/// Takes an archive in. `?name=` names the session, `?file=` the archive.
pub async fn take_in(gate: &Arc<Gate>, principal: &Principal, parts: &Parts, mut body: Incoming) -> Result<Reply, Failed> {
    let settings = &gate.config.settings.http;
    let bounds = Bounds { bytes: settings.upload_bytes, ..Bounds::of_message(settings) };
    body::refuse_announced(&body, bounds)?;
    let admission = gate.admit_upload(principal, &carried::origin(Transport::Http, parts)).await?;
    let file_name = file_name(parameter(parts, "file"))?;
    let mut file = admission.place()?;
    let (mut received, began) = (0, Instant::now());
    while let Some(piece) = body::next(&mut body, bounds.until(began, received)).await? {
        received += piece.len() as u64;
        if received > bounds.bytes {
            return Err(body::too_large(bounds).into());
        }
        block_in_place(|| file.write_all(&piece)).map_err(|error| unwritten(&error))?;
    }
    file.rewind().map_err(|error| unwritten(&error))?;
    // Whoever hangs up now wants no session: the drop of this future ends what was begun.
    let cancel = CancellationToken::new();
    let _stop = cancel.clone().drop_guard();
    let opened = admission.open(file, file_name, parameter(parts, "name"), cancel).await?;
    Ok(reply::json(StatusCode::CREATED, &opened))
}

/// Hands an archive out.
pub async fn hand_out(gate: &Gate, principal: &Principal, parts: &Parts, session: &str) -> Result<Reply, Failed> {
    let archive = gate.hand_out(principal, &carried::origin(Transport::Http, parts), session).await?;
    let body = FileBody { file: archive.file, left: archive.size };
    let mut reply = Response::new(body.boxed());
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/zip"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let plain: String = archive.name.chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect();
    if let Ok(disposition) = HeaderValue::from_str(&format!("attachment; filename=\"{plain}\"")) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    Ok(reply)
}

/// Why there is no archive: an answer that is made already, or a failure to make one of.
pub enum Failed {
    Reply(Reply),
    Failure(Failure),
}

impl From<Reply> for Failed {
    fn from(reply: Reply) -> Failed {
        Failed::Reply(reply)
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Failed {
        Failed::Failure(failure)
    }
}

/// A failure as an answer of HTTP.
pub fn as_reply(failure: &Failure) -> Reply {
    let status = match failure.class {
        Class::Invalid => StatusCode::BAD_REQUEST,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Forbidden => StatusCode::FORBIDDEN,
        Class::Conflict => StatusCode::CONFLICT,
        Class::Busy => StatusCode::TOO_MANY_REQUESTS,
        Class::Limit => StatusCode::PAYLOAD_TOO_LARGE,
        Class::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Class::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    reply::json(status, &failure.render(Shape::Nested))
}

/// A parameter of the address. Names of sessions and archives need no `%`.
fn parameter(parts: &Parts, name: &str) -> Option<String> {
    let pairs = parts.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

/// The name that the archive keeps: plain enough to be a file's anywhere.
fn file_name(wanted: Option<String>) -> Result<String, Failure> {
    let name = wanted.unwrap_or_else(|| "archive.zip".to_owned());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=128).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.') {
        return Ok(name);
    }
    Err(Failure::invalid(format!("`file` is {name:?}."))
        .suggest("Use 1 to 128 letters, digits, `-`, `_` and `.`, not beginning with a dot."))
}

fn unwritten(error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Failure::limit("The server's disk is full."),
        _ => Failure::internal(format!("The archive could not be kept: {error}.")),
    }
}

/// A file, sent piece by piece: an archive may be larger than memory.
struct FileBody {
    file: File,
    left: u64,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut piece = BytesMut::zeroed(self.left.min(PIECE as u64) as usize);
        let read = block_in_place(|| self.file.read(&mut piece))?;
        if read == 0 {
            return Poll::Ready(Some(Err(std::io::ErrorKind::UnexpectedEof.into())));
        }
        self.left -= read as u64;
        piece.truncate(read);
        Poll::Ready(Some(Ok(Frame::data(piece.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
