//! One line for each call, whatever became of it.

use std::time::Instant;

use super::principal::Principal;
use crate::failure::Failure;

/// A call that has begun. If it is dropped before its end, the caller went away.
pub struct Entry {
    what: String,
    plugin: String,
    principal: String,
    began: Instant,
    ended: bool,
}

/// `what` is a tool, or a method that reads.
pub fn begin(principal: &Principal, what: &str, plugin: &str) -> Entry {
    Entry { what: what.into(), plugin: plugin.into(), principal: principal.id.to_string(), began: Instant::now(), ended: false }
}

impl Entry {
    pub fn end(mut self, outcome: Result<&str, &Failure>) {
        self.write(outcome.unwrap_or_else(|failure| &failure.code));
        self.ended = true;
    }

    fn write(&self, outcome: &str) {
        let micros = self.began.elapsed().as_micros() as u64;
        tracing::info!(target: "zipfs::call", what = self.what, plugin = self.plugin, principal = self.principal, outcome, micros);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.ended {
            self.write("ABANDONED");
        }
    }
}
