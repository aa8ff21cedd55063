//! A tool that needs input: one guest contract, two wires.
//!
//! Clients of the stateless revision get the questions as the result of the call, with the tool's state sealed so that they can
//! carry it but not change it. Older clients are asked by requests of our own, while the call waits.
// Sampling and roots are deprecated in the newest revision; tools may still use them where a client has them.
#![allow(deprecated)]

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    CreateMessageRequestParams, ElicitRequestParams, ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec, SealOptions,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::failure::{Class, Failure};
use crate::gate::Question;
use crate::sandbox::bindings::types::{self, InputAnswer, Resumption};
use crate::sandbox::guest::Client;
use crate::sandbox::run::cancelled;

/// How long an answer is waited for, and sealed state is accepted. A person may think over a form; not for days.
const STATE_LIVES: Duration = Duration::from_secs(3600);

/// How often one call may come back with another question.
pub const MOST_ROUNDS: usize = 16;

/// What is sealed: the tool's own state, and whether there is one.
#[derive(Serialize, Deserialize)]
struct Sealed {
    state: Option<String>,
}

/// What a client would have to be able to do.
pub struct Lacking {
    name: String,
    what: &'static str,
}

impl Lacking {
    /// For clients that wait for the tool's answer.
    pub fn failure(&self) -> Failure {
        let (name, what) = (&self.name, self.what);
        Failure::new(
            Class::Forbidden,
            "CLIENT_CANNOT_ANSWER",
            format!("The tool asks for {name:?}, which needs a client with {what}."),
        )
        .suggest("Use a client that supports it.")
    }

    /// For clients that were to get the question.
    pub fn error(&self) -> ErrorData {
        match serde_json::from_value(json!({self.what: {}})) {
            Ok(needed) => ErrorData::missing_required_client_capability(needed),
            Err(_) => ErrorData::invalid_request(self.failure().sentence(), None),
        }
    }
}

/// Refuses a question that the client has no way to answer.
pub fn check_abilities(question: &Question, client: &Client) -> Result<(), Lacking> {
    for (name, request) in &question.requests {
        let (able, what) = match request {
            types::InputRequest::Elicit(_) => (client.elicitation, "elicitation"),
            types::InputRequest::Sample(_) => (client.sampling, "sampling"),
            types::InputRequest::Roots => (client.roots, "roots"),
        };
        if !able {
            return Err(Lacking { name: name.clone(), what });
        }
    }
    Ok(())
}

/// The question as the result of a call.
pub fn as_result(codec: &RequestStateCodec, about: &str, question: Question) -> Result<InputRequiredResult, Failure> {
    let (requests, state) = requests(question)?;
    let options = SealOptions::new().associated_data(about.as_bytes()).ttl(STATE_LIVES);
    let state = codec
        .seal_json_with(&Sealed { state }, &options)
        .map_err(|error| Failure::internal(format!("The tool's state cannot be sealed: {error}.")))?;
    Ok(InputRequiredResult::new(Some(requests), Some(state)))
}

/// The questions on the wire, and what the tool wants to remember.
pub fn requests(question: Question) -> Result<(InputRequests, Option<String>), Failure> {
    let mut requests = InputRequests::new();
    for (name, request) in question.requests {
        requests.insert(name, on_wire(request)?);
    }
    Ok((requests, question.state))
}

/// The answers of a client that carried our state. Changed, expired or foreign state is an error of the request.
pub fn resumption(
    codec: &RequestStateCodec,
    about: &str,
    responses: Option<InputResponses>,
    state: Option<String>,
) -> Result<Option<Resumption>, String> {
    if responses.is_none() && state.is_none() {
        return Ok(None);
    }
    // A tool that remembered something finds that it is missing, and asks anew.
    let Some(state) = state else {
        return Ok(Some(Resumption { answers: answers(responses.unwrap_or_default()), state: None }));
    };
    let sealed: Sealed =
        codec.open_json_with(&state, about.as_bytes()).map_err(|error| format!("requestState is not valid: {error}"))?;
    Ok(Some(Resumption { answers: answers(responses.unwrap_or_default()), state: sealed.state }))
}

/// Asks an older client, one request after the other, until it answers, goes away, or takes too long.
pub async fn ask(context: &RequestContext<RoleServer>, question: Question) -> Result<Resumption, Failure> {
    let mut responses = BTreeMap::new();
    for (name, request) in question.requests {
        let answer = tokio::select! {
            answer = ask_once(&context.peer, on_wire(request)?) => answer?,
            () = context.ct.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep(STATE_LIVES) => return Err(Failure::new(Class::Timeout, "TIMEOUT", "Nobody answered the tool's question.")),
        };
        responses.insert(name, answer);
    }
    Ok(Resumption { answers: answers(responses), state: question.state })
}

async fn ask_once(peer: &Peer<RoleServer>, request: InputRequest) -> Result<Value, Failure> {
    let refused = |error: rmcp::ServiceError| {
        Failure::new(Class::Forbidden, "CLIENT_CANNOT_ANSWER", format!("The client did not answer the tool's question: {error}."))
    };
    Ok(match request {
        InputRequest::Elicitation(request) => json!(peer.create_elicitation(request.params).await.map_err(refused)?),
        InputRequest::CreateMessage(request) => json!(peer.create_message(request.params).await.map_err(refused)?),
        InputRequest::ListRoots(_) => json!(peer.list_roots().await.map_err(refused)?),
        _ => return Err(Failure::internal("The tool asked for something that cannot be asked.")),
    })
}

pub fn answers(responses: BTreeMap<String, Value>) -> Vec<InputAnswer> {
    responses.into_iter().map(|(name, value)| InputAnswer { name, value: value.to_string() }).collect()
}

/// The request, built as JSON and read back, so that what the guest wrote is checked against the protocol's own types.
fn on_wire(request: types::InputRequest) -> Result<InputRequest, Failure> {
    let wrong = |error: serde_json::Error| Failure::internal(format!("The tool's question is not well-formed: {error}."));
    Ok(match request {
        types::InputRequest::Elicit(form) => {
            let schema: Value = serde_json::from_str(&form.schema).map_err(wrong)?;
            let params: ElicitRequestParams =
                serde_json::from_value(json!({"mode": "form", "message": form.message, "requestedSchema": schema}))
                    .map_err(wrong)?;
            InputRequest::Elicitation(rmcp::model::ElicitRequest::new(params))
        }
        types::InputRequest::Sample(params) => {
            let params: CreateMessageRequestParams = serde_json::from_str(&params).map_err(wrong)?;
            InputRequest::CreateMessage(rmcp::model::CreateMessageRequest::new(params))
        }
        types::InputRequest::Roots => InputRequest::ListRoots(Default::default()),
    })
}
