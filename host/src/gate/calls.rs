//! What arrives at the gate, and how it is turned away.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::origin::{Origin, Transport};
use super::principal::Principal;
use crate::failure::{Failure, Shape};
use crate::sandbox::bindings::types::Resumption;
use crate::sandbox::guest::{Client, Event};

/// A request for a tool, free of any wire.
pub struct Call {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub principal: Principal,
    /// The one plugin that the caller's endpoint offers; `None` where it offers all.
    pub only: Option<Arc<str>>,
    pub origin: Origin,
    /// The answers, if the tool had asked for input.
    pub resumed: Option<Resumption>,
    pub audience: Audience,
    pub cancel: CancellationToken,
}

/// Who hears of a running call.
#[derive(Default)]
pub struct Audience {
    pub events: Option<UnboundedSender<Event>>,
    pub client: Client,
}

impl Call {
    /// A call by the local user that nobody watches.
    pub fn local(tool: &str, arguments: Map<String, Value>) -> Call {
        Call {
            tool: tool.to_owned(),
            arguments,
            principal: Principal::local(),
            only: None,
            origin: Origin::new(Transport::Cli),
            resumed: None,
            audience: Audience::default(),
            cancel: CancellationToken::new(),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// There is no such tool: an error of the protocol, not of a tool.
    UnknownTool(String),
    /// The tool failed or was kept from running. The shape is how its plugin words errors.
    Failed { failure: Failure, shape: Shape },
}

impl Refusal {
    /// A failure that is of no plugin.
    pub fn plain(failure: Failure) -> Refusal {
        Refusal::Failed { failure, shape: Shape::default() }
    }

    /// The failure, whatever it is of.
    pub fn into_failure(self) -> Failure {
        match self {
            Refusal::UnknownTool(name) => Failure::invalid(format!("There is no tool {name:?}.")),
            Refusal::Failed { failure, .. } => failure,
        }
    }
}
