//! One request, from its headers to its answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::authenticate::Authenticator;
use super::body::{self, Bounds};
use super::mcp::McpEndpoint;
use super::origin::Places;
use super::reply::{self, Endless, Reply};
use crate::gate::{Gate, Principal};

/// What all requests of a service share.
pub struct Router {
    pub gate: Arc<Gate>,
    pub places: Places,
    pub authenticator: Authenticator,
    /// The one plugin that is served, if not all.
    pub only: Option<Arc<str>>,
    /// Ends what never ends by itself.
    pub stop: CancellationToken,
    /// One for each address of MCP that was asked for.
    pub endpoints: Mutex<BTreeMap<String, Arc<McpEndpoint>>>,
}

impl Router {
    pub async fn answer(&self, request: Request<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        if let Err(refused) = self.places.check(&parts) {
            return refused;
        }
        if parts.uri.path() == "/health" {
            return match parts.method {
                Method::GET | Method::HEAD => reply::json(StatusCode::OK, &self.health()),
                _ => reply::wrong_method("GET"),
            };
        }
        let principal = match self.authenticator.identify(&parts) {
            Ok(principal) => principal,
            Err(refused) => return refused,
        };
        self.serve(principal, parts, body).await.unwrap_or_else(|refused| refused)
    }

    async fn serve(&self, principal: Principal, parts: Parts, body: Incoming) -> Result<Reply, Reply> {
        let path = parts.uri.path();
        let endpoint = match path.strip_prefix("/mcp") {
            Some("") => self.endpoint(self.only.as_deref())?,
            Some(below) => self.endpoint(Some(below.strip_prefix('/').ok_or_else(reply::not_found)?))?,
            None => return Err(reply::not_found()),
        };
        let bytes = body::read(body, Bounds::of_message(&self.gate.config.settings.http)).await?;
        let is_endless = match parts.method {
            Method::POST => Message::read(&bytes)?.method.as_deref() == Some("subscriptions/listen"),
            _ => parts.method == Method::GET,
        };
        let mut reply = endpoint.answer(principal, parts, bytes).await;
        if is_endless {
            reply.extensions_mut().insert(Endless);
        }
        Ok(reply)
    }

    /// The endpoint of a plugin, or of all of them; made when it is first asked for.
    fn endpoint(&self, plugin: Option<&str>) -> Result<Arc<McpEndpoint>, Reply> {
        let is_offered = |name: &str| {
            self.only.as_deref().is_none_or(|only| only == name)
                && self.gate.registry().plugins.iter().any(|plugin| plugin.description.name == name)
        };
        if plugin.is_some_and(|name| !is_offered(name)) {
            return Err(reply::not_found());
        }
        let mut endpoints = self.endpoints.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let made = endpoints.entry(plugin.unwrap_or_default().to_owned()).or_insert_with(|| {
            let settings = &self.gate.config.settings.http;
            Arc::new(McpEndpoint::new(&self.gate, plugin, settings, &self.stop))
        });
        Ok(made.clone())
    }

    fn health(&self) -> Value {
        let registry = self.gate.registry();
        let alone = self.only.as_deref().and_then(|only| registry.plugins.iter().find(|plugin| plugin.description.name == only));
        let version = match alone {
            Some(plugin) => plugin.manifest.identity.as_ref().map_or(&*plugin.description.version, |identity| &*identity.version),
            None => env!("CARGO_PKG_VERSION"),
        };
        json!({"status": "ok", "version": version})
    }
}

/// What is read of a message before it is handed on.
#[derive(serde::Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
}

impl Message<'_> {
    /// What cannot be a message is refused in the words of JSON-RPC, before anybody takes it for something else.
    fn read(bytes: &[u8]) -> Result<Message<'_>, Reply> {
        let wrong = |code: i32, why: String| {
            reply::json(StatusCode::BAD_REQUEST, &json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": why}}))
        };
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            return Err(wrong(-32600, "Invalid request: one message in each request; there are no batches in MCP".into()));
        }
        serde_json::from_slice(bytes).map_err(|error| wrong(-32700, format!("Parse error: {error}")))
    }
}
