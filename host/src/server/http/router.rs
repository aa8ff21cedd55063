//! One request, from its headers to its answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::authenticate::Authenticator;
use super::body::{self, Bounds};
use super::mcp::McpEndpoint;
use super::origin::Places;
use super::rate::Rates;
use super::refusal::Reason;
use super::reply::{self, Endless, Reply};
use super::rpc::Asking;
use super::transfer::{self, Failed};
use super::{carried, cors};
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Accounted, Gate, Origin, Principal, Trace, Transport};
use crate::plugins::Role;

/// What all requests of a service share.
pub struct Router {
    pub gate: Arc<Gate>,
    pub places: Places,
    pub authenticator: Authenticator,
    pub rates: Rates,
    /// The one plugin that is served, if not all.
    pub only: Option<Arc<str>>,
    /// Ends what never ends by itself.
    pub stop: CancellationToken,
    /// One for each address of MCP that was asked for.
    pub endpoints: Mutex<BTreeMap<String, Arc<McpEndpoint>>>,
}

impl Router {
    /// Answers a request that came from this address, and sees to it that one that does not become a call is counted.
    pub async fn answer(&self, request: Request<Incoming>, from: IpAddr) -> Reply {
        let (mut parts, body) = request.into_parts();
        let (accounted, mut sender) = (Accounted::default(), None);
        parts.extensions.insert(accounted.clone());
        let reply = self.answer_placed(parts, body, &mut sender).await;
        if let Some(reason) = Reason::of(&reply).filter(|_| !accounted.is_noted()) {
            self.turn_away(reason, sender.as_ref(), from);
        }
        reply
    }

    /// Notes a request that did not become a call.
    pub fn turn_away(&self, reason: Reason, principal: Option<&Arc<str>>, from: IpAddr) {
        self.gate.observer.meters.refuse(reason.label());
        self.gate.refusals.add(reason.code(), principal, from);
    }

    async fn answer_placed(&self, parts: Parts, body: Incoming, sender: &mut Option<Arc<str>>) -> Reply {
        if let Err(refused) = self.places.check(&parts) {
            return refused;
        }
        let origin = parts.headers.get(hyper::header::ORIGIN).cloned();
        let reply = match self.answer_anybody(&parts) {
            Some(reply) => reply,
            None => self.answer_somebody(parts, body, sender).await.unwrap_or_else(|refused| refused),
        };
        cors::permit(reply, origin)
    }

    /// What is no secret.
    fn answer_anybody(&self, parts: &Parts) -> Option<Reply> {
        if parts.method == Method::OPTIONS {
            return Some(cors::preflight());
        }
        let answer = |answer: &dyn Fn() -> Reply| match parts.method {
            Method::GET | Method::HEAD => answer(),
            _ => reply::wrong_method("GET"),
        };
        match parts.uri.path() {
            "/health" => Some(answer(&|| reply::json(StatusCode::OK, &self.health()))),
            "/" if parts.method != Method::POST => Some(answer(&|| reply::json(StatusCode::OK, &self.directory()))),
            path if is_metadata(path) => Some(answer(&|| self.authenticator.describe(parts))),
            _ => None,
        }
    }

    async fn answer_somebody(&self, parts: Parts, body: Incoming, sender: &mut Option<Arc<str>>) -> Result<Reply, Reply> {
        let principal = self.authenticator.identify(&parts).await?;
        *sender = Some(principal.id.clone());
        self.rates.take(&principal)?;
        let path = parts.uri.path();
        if path == "/metrics" {
            return Ok(self.metrics(&principal, &parts));
        }
        if let Some(below) = path.strip_prefix("/archives") {
            let below = below.to_owned();
            return Ok(self.transfer(&principal, parts, &below, body).await);
        }
        let bounds = Bounds::of_message(&self.gate.config.settings.http);
        if path == "/" {
            let bytes = body::read(body, bounds).await?;
            return Ok(self.answer_rpc(&principal, &parts, &bytes).await);
        }
        let plugin = match path.strip_prefix("/mcp") {
            Some("") => self.only.clone(),
            Some(below) => Some(below.strip_prefix('/').ok_or_else(reply::not_found)?.into()),
            None => return Err(reply::not_found()),
        };
        let endpoint = self.endpoint(plugin.as_deref()).await?;
        let bytes = body::read(body, bounds).await?;
        let is_endless = match parts.method {
            Method::POST => self.look_at(&principal, plugin.as_deref(), &parts, &bytes).await?,
            _ => parts.method == Method::GET,
        };
        let mut reply = endpoint.answer(principal, parts, bytes).await;
        if is_endless {
            reply.extensions_mut().insert(Endless);
        }
        Ok(reply)
    }

    /// Looks at a message of MCP before it is handed on, and says whether its answer has no end. A call that its principal may not
    /// make is refused in the words of HTTP: once the answer has begun, its status is out.
    async fn look_at(&self, principal: &Principal, only: Option<&str>, parts: &Parts, bytes: &Bytes) -> Result<bool, Reply> {
        let message = Message::read(bytes)?;
        let params = message.params.unwrap_or_default();
        let own = params.meta.and_then(|meta| Trace::parse(meta.traceparent.as_deref()?));
        let origin = carried::origin(Transport::Http, parts);
        let origin = Origin { trace: own.or(origin.trace), ..origin };
        let refused = match (message.method.as_deref(), &params.name, &params.uri) {
            (Some("tools/call"), Some(Value::String(tool)), _) => {
                let none = Map::new();
                let arguments = params.arguments.as_ref().and_then(Value::as_object).unwrap_or(&none);
                self.gate.forbids(principal, &origin, only, tool, arguments).await
            }
            (Some("resources/read"), _, Some(Value::String(uri))) => self.gate.forbids_reading(principal, &origin, uri),
            _ => None,
        };
        match refused {
            None => Ok(message.method.as_deref() == Some("subscriptions/listen")),
            Some(failure) => {
                let error = json!({"code": 403, "message": failure.sentence(), "data": failure.render(Shape::Nested)});
                let body = json!({"jsonrpc": "2.0", "id": message.id, "error": error});
                Err(self.forbidden(parts, reply::json(StatusCode::FORBIDDEN, &body), &failure))
            }
        }
    }

    async fn answer_rpc(&self, principal: &Principal, parts: &Parts, bytes: &[u8]) -> Reply {
        // A client that hangs up does not want its answer any more.
        let cancel = CancellationToken::new();
        let _stop = cancel.clone().drop_guard();
        let asking = Asking { gate: &self.gate, principal, only: self.only.as_deref(), headers: parts, cancel: &cancel };
        let replied = asking.answer(bytes).await;
        match replied.forbidden {
            None => replied.reply,
            Some(scope) => self.authenticator.forbid(parts, replied.reply, scope.as_deref()),
        }
    }

    async fn transfer(&self, principal: &Principal, parts: Parts, below: &str, body: Incoming) -> Reply {
        let transferred = match (&parts.method, below) {
            _ if self.only.as_deref().is_some_and(|only| only != "zipfs") => return reply::not_found(),
            (&Method::POST, "") => transfer::take_in(&self.gate, principal, &parts, body).await,
            (_, "") => return reply::wrong_method("POST"),
            (&Method::GET, session) => match session.strip_prefix('/') {
                Some(session) => transfer::hand_out(&self.gate, principal, &parts, session).await,
                None => return reply::not_found(),
            },
            _ => return reply::wrong_method("GET"),
        };
        match transferred {
            Ok(reply) | Err(Failed::Reply(reply)) => reply,
            Err(Failed::Failure(failure)) if failure.class == Class::Forbidden => {
                self.forbidden(&parts, transfer::as_reply(&failure), &failure)
            }
            Err(Failed::Failure(failure)) => transfer::as_reply(&failure),
        }
    }

    fn forbidden(&self, parts: &Parts, reply: Reply, failure: &Failure) -> Reply {
        let scope = failure.details.as_ref().and_then(|details| details["required_scope"].as_str());
        self.authenticator.forbid(parts, reply, scope)
    }

    /// The endpoint of a plugin, or of all of them; made when it is first asked for.
    async fn endpoint(&self, plugin: Option<&str>) -> Result<Arc<McpEndpoint>, Reply> {
        let is_offered = |name: &str| {
            self.only.as_deref().is_none_or(|only| only == name)
                && self.gate.registry().plugins.iter().any(|plugin| plugin.description.name == name)
        };
        if plugin.is_some_and(|name| !is_offered(name)) {
            // It may have been added just now.
            self.gate.refresh().await;
        }
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

    /// The numbers are of everybody, so they are not for everybody.
    fn metrics(&self, principal: &Principal, parts: &Parts) -> Reply {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return reply::wrong_method("GET");
        }
        if principal.role < Role::Operator {
            return reply::refuse(StatusCode::FORBIDDEN, "/metrics requires the role operator");
        }
        reply::text(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", self.gate.metrics())
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

    /// What is where, for whoever looks with a browser.
    fn directory(&self) -> Value {
        json!({
            "status": "ok",
            "mcp": "/mcp, or /mcp/PLUGIN for one plugin",
            "json_rpc": "POST /",
            "archives": "POST /archives, GET /archives/SESSION",
            "health": "/health",
        })
    }
}

fn is_metadata(path: &str) -> bool {
    path.strip_prefix("/.well-known/oauth-protected-resource").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is read of a message before it is handed on. A key that comes twice is an error: two readers could each take another one.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    params: Option<Params>,
}

#[derive(Default, Deserialize)]
struct Params {
    #[serde(default)]
    name: Option<Value>,
    #[serde(default)]
    uri: Option<Value>,
    #[serde(default)]
    arguments: Option<Value>,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

/// The trace of the call. What is no such thing is nobody's fault here.
#[derive(Default)]
struct Meta {
    traceparent: Option<String>,
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Meta, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Meta { traceparent: value["traceparent"].as_str().map(str::to_owned) })
    }
}

impl Message<'_> {
    /// What cannot be a message is refused in the words of JSON-RPC, before anybody takes it for something else.
    fn read(bytes: &[u8]) -> Result<Message<'_>, Reply> {
        let wrong = |code: i32, why: String| {
            let message = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": why}});
            reply::json(StatusCode::BAD_REQUEST, &message)
        };
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            return Err(wrong(-32600, "Invalid request: one message in each request; there are no batches in MCP".into()));
        }
        serde_json::from_slice(bytes).map_err(|error| wrong(-32700, format!("Parse error: {error}")))
    }
}
