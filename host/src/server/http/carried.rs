//! What a request's headers say of the calls in it, for the gate.

use hyper::http::request::Parts;

use super::origin::only;
use crate::gate::{Accounted, Origin, Trace, Transport};

/// Where a call in this request comes from. Each is another, though they share the trace.
pub fn origin(transport: Transport, request: &Parts) -> Origin {
    // One that comes twice is as good as none, as the recommendation wants it.
    let header = only(&request.headers, "traceparent").ok().flatten();
    let trace = header.and_then(|header| header.to_str().ok()).and_then(Trace::parse);
    Origin { trace, accounted: request.extensions.get::<Accounted>().cloned(), ..Origin::new(transport) }
}
