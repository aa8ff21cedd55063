//! MCP at one address: transport sessions for the older revisions, single requests for the newest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{ACCEPT, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::origin::only;
use super::refusal::Reason;
use super::reply::{self, Reply};
use crate::config::Http;
use crate::gate::{Gate, Principal};
use crate::server::endpoint::{Callers, Endpoint};
use crate::server::handler::Handler;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// How long the answer to a request is kept for a client that lost its connection and comes back for it. What is kept is memory.
const RESUMABLE: Duration = Duration::from_secs(5);

/// When such a client should come back.
const RETRY: Duration = Duration::from_secs(1);

/// One endpoint: everything, or one plugin.
pub struct McpEndpoint {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Whose each transport session is, with the order they were made in.
    owners: Mutex<Owners>,
    most: usize,
}

#[derive(Default)]
struct Owners {
    by_session: HashMap<String, (Arc<str>, u64)>,
    next: u64,
}

impl McpEndpoint {
    pub fn new(gate: &Arc<Gate>, only: Option<&str>, settings: &Http, stop: &CancellationToken) -> McpEndpoint {
        let handler = Handler::new(gate.clone(), Endpoint::new(only, Callers::Carried));
        handler.watch();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(Duration::from_millis(settings.transport_session_ms));
        sessions.session_config.completed_cache_ttl = RESUMABLE;
        sessions.session_config.sse_retry = Some(RETRY);
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_sse_retry(Some(RETRY))
            .with_max_request_body_bytes(settings.body_bytes as usize)
            .with_cancellation_token(stop.clone())
            // Checked before anything came here, and more strictly.
            .disable_allowed_hosts();
        let service = StreamableHttpService::new(move || Ok(handler.for_another_client()), sessions.clone(), config);
        McpEndpoint { service, sessions, owners: Mutex::default(), most: settings.transport_sessions as usize }
    }

    /// Answers one request whose body has been read.
    pub async fn answer(&self, principal: Principal, mut parts: Parts, body: Bytes) -> Reply {
        if let Err(refused) = self.check_session(&principal, &mut parts) {
            return refused;
        }
        accept_what_we_send(&mut parts);
        let named = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let is_end = parts.method == Method::DELETE;
        let owner = principal.id.clone();
        parts.extensions.insert(principal);
        let reply = self.service.handle(Request::from_parts(parts, Full::new(body))).await;
        match named {
            None => {
                if let Some(made) = reply.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
                    self.bind(made, owner).await;
                }
            }
            // It was ended, or has ended by itself: from now on it is like one that never was.
            Some(id) if (is_end && reply.status().is_success()) || reply.status() == StatusCode::NOT_FOUND => {
                self.owners().by_session.remove(&id);
                if !is_end {
                    return session_not_found();
                }
            }
            Some(_) => {}
        }
        reply.map(|body| body.map_err(|never| match never {}).boxed())
    }

    /// A transport session belongs to whoever began it. Another's is answered like one that does not exist.
    fn check_session(&self, principal: &Principal, parts: &mut Parts) -> Result<(), Reply> {
        let unclear = |()| reply::refuse(StatusCode::BAD_REQUEST, "A header came twice");
        let version = only(&parts.headers, VERSION.as_str()).map_err(unclear)?;
        if version
            .and_then(|version| version.to_str().ok())
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
        {
            // There are no sessions in this revision. A header that means nothing must not come to mean something further down.
            parts.headers.remove(SESSION);
            parts.headers.remove(LAST_EVENT);
            return Ok(());
        }
        let Some(id) = only(&parts.headers, SESSION.as_str()).map_err(unclear)? else {
            return match parts.method {
                Method::POST => Ok(()),
                _ => Err(reply::refuse(StatusCode::BAD_REQUEST, "Session ID is required")),
            };
        };
        let owners = self.owners();
        let owner = id.to_str().ok().and_then(|id| owners.by_session.get(id));
        match owner {
            Some((owner, _)) if *owner == principal.id => Ok(()),
            _ => Err(session_not_found()),
        }
    }

    /// Notes whose a new transport session is. The oldest of a principal that has too many is ended.
    async fn bind(&self, id: &str, owner: Arc<str>) {
        let alive: std::collections::HashSet<String> =
            self.sessions.sessions.read().await.keys().map(|id| id.to_string()).collect();
        let too_many = {
            let mut owners = self.owners();
            let number = owners.next;
            owners.next += 1;
            owners.by_session.retain(|id, _| alive.contains(id));
            owners.by_session.insert(id.to_owned(), (owner.clone(), number));
            let mut own: Vec<(u64, String)> = owners
                .by_session
                .iter()
                .filter(|(_, (of, _))| *of == owner)
                .map(|(id, (_, number))| (*number, id.clone()))
                .collect();
            own.sort();
            let excess = own.len().saturating_sub(self.most);
            let ended: Vec<String> = own.into_iter().take(excess).map(|(_, id)| id).collect();
            ended.iter().for_each(|id| {
                owners.by_session.remove(id);
            });
            ended
        };
        for id in too_many {
            use rmcp::transport::streamable_http_server::session::SessionManager;
            let _ = self.sessions.close_session(&id.into()).await;
        }
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn session_not_found() -> Reply {
    Reason::Session.mark(reply::json(StatusCode::NOT_FOUND, &json!({"error": "Session not found"})))
}

/// Clients that do not say what they accept, as some do with notifications, accept what the protocol says.
fn accept_what_we_send(parts: &mut Parts) {
    let says_nothing = parts.headers.get(ACCEPT).is_none_or(|accept| accept.as_bytes() == b"*/*");
    if says_nothing && parts.method == Method::POST {
        parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}
