//! One line for each call, whatever became of it.

use std::time::Instant;

use super::answer::Answer;
use super::calls::Call;
use crate::failure::Failure;
use crate::plugins::Found;

/// A call that has begun. If it is dropped before its end, the caller went away.
pub struct Entry {
    tool: String,
    plugin: String,
    principal: String,
    began: Instant,
    ended: bool,
}

pub fn begin(call: &Call, found: &Found) -> Entry {
    Entry {
        tool: found.tool().name.clone(),
        plugin: found.plugin.description.name.clone(),
        principal: call.principal.name.clone(),
        began: Instant::now(),
        ended: false,
    }
}

impl Entry {
    pub fn end(mut self, answer: &Result<Answer, Failure>) {
        let outcome = match answer {
            Ok(Answer::Complete(_)) => "ok",
            Ok(Answer::InputRequired(_)) => "input-required",
            Err(failure) => &failure.code,
        };
        self.write(outcome);
        self.ended = true;
    }

    fn write(&self, outcome: &str) {
        let micros = self.began.elapsed().as_micros() as u64;
        tracing::info!(target: "zipfs::call", tool = self.tool, plugin = self.plugin, principal = self.principal, outcome, micros);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.ended {
            self.write("ABANDONED");
        }
    }
}
