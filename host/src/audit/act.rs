//! Administrative acts: plugins added and removed, grants given and taken, tokens made and revoked.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::line::Line;
use super::log::Log;
use crate::failure::Failure;
use std::sync::Arc;

/// Something that a person did to the installation, or tried to.
///
/// ```ignore
/// Act::new("local", "cli", "plugin-add").about("plugin", name).about("digest", digest).write(&gate.audit, &result)?;
/// ```
pub struct Act(Line);

impl Act {
    /// Who did it, by which way, and what it is called.
    pub fn new(principal: &str, transport: &'static str, what: &str) -> Act {
        Act(Line {
            timestamp: jiff::Timestamp::now().to_string(),
            kind: "admin",
            request_id: Uuid::new_v4().to_string(),
            principal: principal.to_owned(),
            transport,
            tool_name: what.to_owned(),
            ..Line::default()
        })
    }

    /// What it was about. Never a secret: names, digests, hosts.
    pub fn about(mut self, name: &str, value: impl Into<Value>) -> Act {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Writes it down with what became of it. One that is not allowed to go unseen asks [`Log::admit`] before it begins.
    pub fn write<T>(mut self, log: &Arc<Log>, result: &Result<T, Failure>) -> Result<(), Failure> {
        self.0.outcome = match result {
            Ok(_) => "ok".into(),
            Err(failure) => failure.code.to_string(),
        };
        log.add(&self.0)
    }

    pub fn details(&self) -> &Map<String, Value> {
        &self.0.details
    }
}
