//! What browsers need to be told before a page may call: only pages that may call get this far.

use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, HeaderValue, VARY,
};

use super::reply::{self, Reply};

/// The answer to a question that browsers ask before a request. It carries no credentials and reveals nothing.
pub fn preflight() -> Reply {
    let mut reply = reply::bytes(StatusCode::NO_CONTENT, Default::default());
    let headers = reply.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id",
        ),
    );
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    reply
}

/// Names the page that asked, which was compared with the list before. Never `*`.
pub fn permit(mut reply: Reply, origin: Option<HeaderValue>) -> Reply {
    if let Some(origin) = origin {
        let headers = reply.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
    reply
}
