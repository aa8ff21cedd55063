//! Administrative acts: plugins added and removed, grants given and taken, tokens made and revoked.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::line::Line;
use super::log::{Log, Owed};
use crate::config::Config;
use crate::failure::Failure;

/// Something that a person does to the installation.
///
/// ```ignore
/// let acting = Act::new("local", "cli", "token-remove").about("token", name).begin(&config)?;
/// acting.end(tokens.remove(name))
/// ```
pub struct Act(Line);

/// An act that has begun. If nobody says how it ended, it was broken off.
pub struct Acting {
    line: Line,
    log: Arc<Log>,
    ended: bool,
    _owed: Owed,
}

impl Act {
    /// Who does it, by which way, and what it is called.
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

    /// What it is about. Never a secret: names, digests, hosts.
    pub fn about(mut self, name: &str, value: impl Into<Value>) -> Act {
        self.0.details.insert(name.to_owned(), value.into());
        self
    }

    /// Fails if the end could not be written down: what nobody can see is not done.
    pub fn begin(self, config: &Config) -> Result<Acting, Failure> {
        self.begin_in(&Log::new(config.audit_directory(), config.settings.audit.clone()))
    }

    /// The same in a log that is open.
    pub fn begin_in(self, log: &Arc<Log>) -> Result<Acting, Failure> {
        let _owed = log.admit()?;
        Ok(Acting { line: self.0, log: log.clone(), ended: false, _owed })
    }
}

impl Acting {
    /// What turned out only while it was done. Never a secret.
    pub fn learn(&mut self, name: &str, value: impl Into<Value>) {
        self.line.details.insert(name.to_owned(), value.into());
    }

    /// Writes it down, with what became of it.
    pub fn end<T>(mut self, result: Result<T, Failure>) -> Result<T, Failure> {
        self.ended = true;
        self.line.outcome = match &result {
            Ok(_) => "ok".into(),
            Err(failure) => failure.code.to_string(),
        };
        self.log.add(&self.line)?;
        result
    }
}

impl Drop for Acting {
    fn drop(&mut self) {
        if !self.ended {
            self.line.outcome = "ABANDONED".into();
            let _ = self.log.add(&self.line);
        }
    }
}
