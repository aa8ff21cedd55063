//! Bodies with an end: so many bytes, and so long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::Error;

use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::uses::Uses;

/// Where a body breaks off, and who hears of it: the codes of `wasi:http` get lost on the way to a guest that reads a stream.
pub struct Bounds {
    pub most: u64,
    /// The setting behind that.
    pub setting: &'static str,
    pub too_large: fn() -> Error,
    /// The end of the whole exchange.
    pub end: Instant,
    /// From one piece to the next, if the guest asked for that.
    pub pause: Option<Duration>,
    pub place: String,
    pub uses: Arc<Uses>,
}

impl Bounds {
    pub fn pass_size(&self) -> Error {
        let message = format!("{} was broken off: its body is larger than {} bytes ({}).", self.place, self.most, self.setting);
        self.uses.refuse(Capability::Http, self.place.clone(), Failure::new(Class::Limit, "HTTP_TOO_LARGE", message));
        (self.too_large)()
    }

    pub fn pass_time(&self) -> Error {
        let message = format!("{} was broken off: it took too long (egress.timeout_ms).", self.place);
        self.uses.refuse(Capability::Http, self.place.clone(), Failure::new(Class::Timeout, "HTTP_TIMEOUT", message));
        Error::ConnectionReadTimeout
    }
}

/// A body that breaks off where its bounds are. It holds what bounds the number of requests until it is gone.
pub struct Bounded<B, H> {
    inner: B,
    bounds: Bounds,
    left: u64,
    end: Pin<Box<Sleep>>,
    pause: Option<(Duration, Pin<Box<Sleep>>)>,
    _held: H,
}

impl<B, H> Bounded<B, H> {
    pub fn new(inner: B, bounds: Bounds, held: H) -> Bounded<B, H> {
        let pause = bounds.pause.map(|pause| (pause, Box::pin(tokio::time::sleep(pause))));
        Bounded { inner, left: bounds.most, end: Box::pin(tokio::time::sleep_until(bounds.end)), pause, bounds, _held: held }
    }
}

impl<B, H> Body for Bounded<B, H>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Error>,
    H: Unpin,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    match this.left.checked_sub(data.len() as u64) {
                        Some(left) => this.left = left,
                        None => return Poll::Ready(Some(Err(this.bounds.pass_size()))),
                    }
                }
                if let Some((pause, sleep)) = &mut this.pause {
                    sleep.as_mut().reset(Instant::now() + *pause);
                }
                // A server that always has one more byte ready would otherwise never meet the end.
                match Instant::now() > this.bounds.end {
                    true => Poll::Ready(Some(Err(this.bounds.pass_time()))),
                    false => Poll::Ready(Some(Ok(frame))),
                }
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(error.into()))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => {
                let paused = this.pause.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(context).is_ready());
                match paused || this.end.as_mut().poll(context).is_ready() {
                    true => Poll::Ready(Some(Err(this.bounds.pass_time()))),
                    false => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
