//! JSON-RPC 2.0 at `POST /`: methods that plugins offer beside MCP, each answered by one of their tools.

use hyper::StatusCode;
use hyper::http::request::Parts;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::carried;
use super::refusal::Reason;
use super::reply::{self, Reply};
use crate::failure::{Class, Failure};
use crate::gate::{Answer, Audience, Call, Gate, Outcome, Principal, Refusal, Transport};
use crate::sandbox::bindings::types::Content;

/// Requests in one batch. They run one after the other; more would keep the connection for minutes.
/// Test: `security::serve::rpc::batches_are_answered_in_order_and_bounded`.
const MOST_IN_BATCH: usize = 64;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// One answer: what is said, and the status that says it to those who only look there.
struct Answered {
    message: Value,
    status: StatusCode,
    /// Of a refusal for want of a scope.
    scope: Option<Value>,
}

/// What a body was answered with: a reply, and the scope it was refused for, if it was.
pub struct Replied {
    pub reply: Reply,
    pub forbidden: Option<Option<String>>,
}

/// Who asks, and what all requests in one body share.
pub struct Asking<'a> {
    pub gate: &'a Gate,
    pub principal: &'a Principal,
    /// The one plugin that is served, if not all.
    pub only: Option<&'a str>,
    pub headers: &'a Parts,
    pub cancel: &'a CancellationToken,
}

impl Asking<'_> {
    /// Answers a body: one request, or several.
    pub async fn answer(&self, body: &[u8]) -> Replied {
        let strict = self.gate.config.settings.http.rpc_status;
        let plain = |reply| Replied { reply, forbidden: None };
        let malformed = |reply| plain(Reason::Malformed.mark(reply));
        let parsed: Value = match serde_json::from_slice(body) {
            Ok(parsed) => parsed,
            Err(error) => {
                let status = if strict { StatusCode::BAD_REQUEST } else { StatusCode::OK };
                return malformed(reply::json(
                    status,
                    &error_message(&Value::Null, PARSE_ERROR, format!("Parse error: {error}"), None),
                ));
            }
        };
        let requests = match parsed {
            Value::Array(requests) if requests.is_empty() || requests.len() > MOST_IN_BATCH => {
                let why = format!("Invalid request: a batch has 1 to {MOST_IN_BATCH} requests");
                let status = if strict { StatusCode::BAD_REQUEST } else { StatusCode::OK };
                return malformed(reply::json(status, &error_message(&Value::Null, INVALID_REQUEST, why, None)));
            }
            Value::Array(requests) => requests,
            request => {
                return match self.one(request).await {
                    None => plain(reply::bytes(StatusCode::NO_CONTENT, Default::default())),
                    Some(answered) => {
                        let is_forbidden = answered.status == StatusCode::FORBIDDEN;
                        // Whether a caller is allowed is a matter of HTTP in any case: clients get another token for it.
                        let status = if strict || is_forbidden { answered.status } else { StatusCode::OK };
                        let scope = answered.scope.and_then(|scope| scope.as_str().map(str::to_owned));
                        let mut reply = reply::json(status, &answered.message);
                        if answered.message.get("error").is_some() {
                            // Counted only if no call came of it.
                            reply = Reason::Malformed.mark(reply);
                        }
                        Replied { reply, forbidden: is_forbidden.then_some(scope) }
                    }
                };
            }
        };
        let mut answers = Vec::new();
        for request in requests {
            answers.extend(self.one(request).await.map(|answered| answered.message));
        }
        plain(match answers.is_empty() {
            true => reply::bytes(StatusCode::NO_CONTENT, Default::default()),
            false => reply::json(StatusCode::OK, &Value::Array(answers)),
        })
    }

    /// Answers one request; a notification gets no answer.
    async fn one(&self, request: Value) -> Option<Answered> {
        let Asking { gate, principal, only, headers, cancel } = *self;
        let wrong = |id: &Value, code: i64, why: String, status: StatusCode| {
            Some(Answered { message: error_message(id, code, why, None), status, scope: None })
        };
        let Value::Object(mut request) = request else {
            return wrong(&Value::Null, INVALID_REQUEST, "Invalid request: it is no object".into(), StatusCode::BAD_REQUEST);
        };
        let id = request.remove("id");
        let is_id = id.as_ref().is_none_or(|id| matches!(id, Value::String(_) | Value::Number(_) | Value::Null));
        let shown = id.clone().filter(|_| is_id).unwrap_or_default();
        let (Some(Value::String(method)), true, Some("2.0")) =
            (request.get("method").cloned(), is_id, request.get("jsonrpc").and_then(Value::as_str))
        else {
            let why = "Invalid request: it needs jsonrpc \"2.0\", a method, and an id that is text or a number".to_owned();
            return wrong(&shown, INVALID_REQUEST, why, StatusCode::BAD_REQUEST);
        };
        let arguments = match request.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => {
                let why = "Invalid params: `params` must be an object, with arguments by name".to_owned();
                return id.and_then(|id| wrong(&id, INVALID_PARAMS, why, StatusCode::BAD_REQUEST));
            }
        };
        let Some(tool) = gate.tool_of_method(&method, only).await else {
            let more = if is_of_mcp(&method) { "; MCP is spoken at /mcp" } else { "" };
            let why = format!("Method not found: {method}{more}");
            let unknown = Failure::new(Class::NotFound, "UNKNOWN_TOOL", why.clone());
            if let Err(failure) = gate.record_refused(principal, &carried::origin(Transport::JsonRpc, headers), &method, &unknown) {
                return id.map(|id| failed(&id, &failure));
            }
            return id.and_then(|id| wrong(&id, METHOD_NOT_FOUND, why, StatusCode::NOT_FOUND));
        };
        let call = Call {
            tool,
            arguments,
            principal: principal.clone(),
            only: only.map(Into::into),
            origin: carried::origin(Transport::JsonRpc, headers),
            resumed: None,
            audience: Audience::default(),
            cancel: cancel.clone(),
        };
        let answered = gate.call(call).await;
        // A notification is carried out and not answered, whatever came of it.
        let id = id?;
        Some(match answered {
            Ok(Answer::Complete(outcome)) => Answered {
                message: json!({"jsonrpc": "2.0", "result": result(outcome), "id": id}),
                status: StatusCode::OK,
                scope: None,
            },
            Ok(Answer::InputRequired(_)) => {
                failed(&id, &Failure::invalid("The tool asks for input, which there is no way to give here.").suggest("Use /mcp."))
            }
            Err(Refusal::UnknownTool(_)) => {
                let message = error_message(&id, METHOD_NOT_FOUND, format!("Method not found: {method}"), None);
                Answered { message, status: StatusCode::NOT_FOUND, scope: None }
            }
            Err(Refusal::Failed { failure, .. }) => failed(&id, &failure),
        })
    }
}

/// What a tool answered: its structured result, or its text. A result that is no object is wrapped in one by tools, as the single
/// member `result`, and comes out of it again here.
fn result(outcome: Outcome) -> Value {
    match outcome.structured {
        Some(Value::Object(mut wrapped)) if wrapped.len() == 1 && wrapped.contains_key("result") => {
            wrapped.remove("result").unwrap_or_default()
        }
        Some(structured) => structured,
        None => {
            let texts = outcome.content.into_iter().filter_map(|content| match content {
                Content::Text(text) => Some(text),
                _ => None,
            });
            Value::String(texts.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A failure, by its class as a number of HTTP and by its code as a type: as systems that were documented before us do.
fn failed(id: &Value, failure: &Failure) -> Answered {
    let (code, status) = match (failure.class, &*failure.code) {
        // The arguments do not fit the schema, or nobody foresaw it: JSON-RPC has numbers of its own for these.
        (Class::Invalid, "INVALID_PARAMS") => (INVALID_PARAMS, StatusCode::BAD_REQUEST),
        (Class::Internal, _) => (INTERNAL_ERROR, StatusCode::INTERNAL_SERVER_ERROR),
        (class, _) => {
            let status = match class {
                Class::Invalid | Class::Internal => StatusCode::BAD_REQUEST,
                Class::NotFound => StatusCode::NOT_FOUND,
                Class::Forbidden => StatusCode::FORBIDDEN,
                Class::Conflict => StatusCode::CONFLICT,
                Class::Busy => StatusCode::TOO_MANY_REQUESTS,
                Class::Limit => StatusCode::PAYLOAD_TOO_LARGE,
                Class::Timeout => StatusCode::GATEWAY_TIMEOUT,
            };
            (i64::from(status.as_u16()), status)
        }
    };
    let mut data = match &failure.details {
        Some(Value::Object(details)) => details.clone(),
        _ => Map::new(),
    };
    let scope = data.get("required_scope").cloned();
    data.insert("type".into(), json!(failure.code));
    let message = error_message(id, code, format!("{}: {}", failure.code, failure.sentence()), Some(Value::Object(data)));
    Answered { message, status, scope }
}

fn error_message(id: &Value, code: i64, message: String, data: Option<Value>) -> Value {
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "error": error, "id": id})
}

fn is_of_mcp(method: &str) -> bool {
    let spaces =
        ["tools/", "resources/", "prompts/", "notifications/", "completion/", "logging/", "server/", "tasks/", "subscriptions/"];
    method == "initialize" || method == "ping" || spaces.iter().any(|space| method.starts_with(space))
}
