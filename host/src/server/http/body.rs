//! Reading what a client sends: so much and so long, and not more.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use tokio::time::Instant;

use super::reply::{self, Reply};
use crate::config::Http;

/// What a body may be.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub bytes: u64,
    pub patience: Duration,
    pub slowest_bytes_per_second: u64,
}

impl Bounds {
    pub fn of_message(settings: &Http) -> Bounds {
        Bounds {
            bytes: settings.body_bytes,
            patience: Duration::from_millis(settings.body_ms),
            slowest_bytes_per_second: settings.slowest_bytes_per_second,
        }
    }

    /// When a body of which so much has come is too slow.
    pub fn until(&self, began: Instant, received: u64) -> Instant {
        began + self.patience + Duration::from_secs(received / self.slowest_bytes_per_second)
    }
}

/// Reads a whole body into memory.
pub async fn read(mut body: Incoming, bounds: Bounds) -> Result<Bytes, Reply> {
    refuse_announced(&body, bounds)?;
    let mut whole = BytesMut::with_capacity(body.size_hint().lower().min(64 << 10) as usize);
    let began = Instant::now();
    while let Some(piece) = next(&mut body, bounds.until(began, whole.len() as u64)).await? {
        if (whole.len() + piece.len()) as u64 > bounds.bytes {
            return Err(too_large(bounds));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

/// Refuses what says of itself that it is too large, before any of it is read.
pub fn refuse_announced(body: &Incoming, bounds: Bounds) -> Result<(), Reply> {
    if body.size_hint().lower() > bounds.bytes { Err(too_large(bounds)) } else { Ok(()) }
}

/// The next piece, or nothing at the end.
pub async fn next(body: &mut Incoming, until: Instant) -> Result<Option<Bytes>, Reply> {
    loop {
        let frame = match tokio::time::timeout_at(until, body.frame()).await {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(reply::hang_up(StatusCode::BAD_REQUEST, "The body is broken")),
            Err(_) => return Err(reply::hang_up(StatusCode::REQUEST_TIMEOUT, "The body comes too slowly")),
        };
        // Trailers are nobody's.
        if let Ok(piece) = frame.into_data() {
            return Ok(Some(piece));
        }
    }
}

pub fn too_large(bounds: Bounds) -> Reply {
    reply::hang_up(StatusCode::PAYLOAD_TOO_LARGE, &format!("The body has more than {} bytes", bounds.bytes))
}
