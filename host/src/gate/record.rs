//! One line for each call, whatever became of it: begun before anything else happens, ended by an answer, a refusal, or by being
//! dropped because the caller went away.

use std::io;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::answer::{Answer, Outcome};
use super::calls::Refusal;
use super::discretion::Discretion;
use super::effects::{self, Before};
use super::named::named;
use super::open::Gate;
use super::origin::{Origin, Trace};
use super::principal::Principal;
use crate::audit::{Line, Log, Owed, digest, hex};
use crate::config::Paths;
use crate::failure::Failure;
use crate::observe::{Ended, Observer};
use crate::plugins::{Found, Plugin};
use crate::sandbox::bindings::types::{Content, ResourceBody};
use crate::sandbox::exports::Visit;
use crate::sandbox::timings::Timings;
use crate::sandbox::uses::Uses;

/// A call that has begun.
pub struct Entry {
    log: Arc<Log>,
    observer: Arc<Observer>,
    line: Line,
    /// Whether there is a tool of that name.
    found: bool,
    trace: Option<Trace>,
    since: SystemTime,
    began: Instant,
    timings: Arc<Timings>,
    before: Option<Before>,
    /// What the call did with what it was granted.
    uses: Arc<Uses>,
    discretion: Discretion,
    ended: bool,
    /// Held until the line is written.
    _owed: Owed,
}

/// The kind of a call of a tool.
pub(super) const CALL: &str = "call";

/// Names that a caller made up are cut: they are its text, and it may make it long.
const MOST_NAME: usize = 128;

/// The same for one path.
const MOST_PATH: usize = 256;

impl Gate {
    /// Begins the record of a call. Fails if it could not be ended, before anything has happened.
    pub(super) fn record(&self, principal: &Principal, origin: &Origin, kind: &'static str, what: &str) -> Result<Entry, Failure> {
        let discretion = self.discretion(principal);
        let _owed = self.audit.admit().map_err(|failure| discretion.tell(failure))?;
        if let Some(accounted) = &origin.accounted {
            accounted.note();
        }
        let line = Line {
            timestamp: jiff::Timestamp::now().to_string(),
            kind,
            request_id: origin.request.to_string(),
            round: origin.round,
            principal: cut(&principal.id, MOST_NAME),
            role: Some(principal.role.name()),
            transport: origin.transport.name(),
            trace_id: origin.trace.map(|trace| hex(&trace.trace)),
            tool_name: cut(what, MOST_NAME),
            ..Line::default()
        };
        Ok(Entry {
            log: self.audit.clone(),
            observer: self.observer.clone(),
            line,
            found: false,
            trace: origin.trace,
            since: SystemTime::now(),
            began: Instant::now(),
            timings: Arc::default(),
            before: None,
            uses: Arc::default(),
            discretion,
            ended: false,
            _owed,
        })
    }

    /// Writes down a call that was turned away before it came to the gate: its wire was wrong, or its caller unknown.
    pub fn record_refused(&self, principal: &Principal, origin: &Origin, tool: &str, failure: &Failure) -> Result<(), Failure> {
        self.record(principal, origin, CALL, tool)?.close(failure.class.name(), Some(&failure.code), None)
    }
}

impl Entry {
    /// What the host says of a step, in words that the principal may read. What a guest says goes as it is: it repeats what the
    /// caller wrote, and knows nothing else.
    pub fn told<T>(&self, step: Result<T, Failure>) -> Result<T, Failure> {
        step.map_err(|failure| self.discretion.tell(failure))
    }

    /// Of what the caller sent only the hash is kept.
    pub fn with_arguments(mut self, arguments: &Map<String, Value>) -> Entry {
        let mut hasher = Hasher(Sha256::new());
        let _ = serde_json::to_writer(&mut hasher, arguments);
        self.line.parameters_hash = Some(hex(&hasher.0.finalize()));
        self
    }

    /// The tool was found.
    pub fn concerns(&mut self, found: &Found, arguments: &Map<String, Value>) {
        self.found = true;
        self.line.tool_name.clone_from(&found.tool().name);
        self.of_plugin(&found.plugin);
        let named = named(&found.tool().input_schema, arguments);
        self.line.paths = named.iter().filter_map(|one| one.path.map(str::to_owned)).take(effects::MOST).collect();
    }

    pub fn of_plugin(&mut self, plugin: &Arc<Plugin>) {
        self.discretion.about(plugin);
        self.line.plugin = Some(plugin.description.name.clone());
        self.line.component = Some(plugin.digest.clone());
    }

    /// The call is about to run.
    pub fn watch(&mut self, visit: &Visit<'_>) {
        self.timings = visit.context.timings.clone();
        self.uses = visit.context.uses.clone();
        self.line.session = visit.context.workspace.as_ref().map(|workspace| workspace.metadata.id.clone());
        if let Some(mount) = visit.context.mount.as_ref().filter(|mount| mount.allowance.is_some()) {
            self.before = Before::look(&mount.dir, &self.line.paths);
        }
    }

    /// Ends a call. An answer that cannot be written down is not given.
    pub fn end(mut self, answer: Result<Answer, Failure>) -> Result<Answer, Failure> {
        let result = match &answer {
            Ok(Answer::Complete(outcome)) => {
                self.opened(outcome);
                Some(hash_of(outcome))
            }
            Ok(Answer::InputRequired(_)) => None,
            Err(failure) => Some(digest(failure.message.as_bytes())),
        };
        match &answer {
            Ok(answer) => self.close(answer.kind(), None, result)?,
            Err(failure) => self.close(failure.class.name(), Some(&failure.code), result)?,
        }
        answer
    }

    /// Ends a call that its principal may not make, and hands the refusal on.
    pub fn refuse(mut self, found: &Found, arguments: &Map<String, Value>, refused: Failure) -> Failure {
        self.concerns(found, arguments);
        self.end(Err(refused)).err().unwrap_or_else(|| Failure::internal("A refusal was lost."))
    }

    /// The session that something other than a call of a tool was about.
    pub fn of_session(&mut self, id: &str) {
        self.line.session = Some(cut(id, MOST_NAME));
    }

    /// Ends the record of a tool that there is not.
    pub fn end_unknown(self, refusal: Refusal) -> Refusal {
        match self.close("not-found", Some("UNKNOWN_TOOL"), None) {
            Ok(()) => refusal,
            Err(failure) => Refusal::plain(failure),
        }
    }

    /// Ends a read.
    pub fn end_read<T>(self, read: Result<T, Failure>) -> Result<T, Failure> {
        match &read {
            Ok(_) => self.close("ok", None, None)?,
            Err(failure) => self.close(failure.class.name(), Some(&failure.code), None)?,
        }
        read
    }

    /// A call without a session may have made one.
    fn opened(&mut self, outcome: &Outcome) {
        if self.line.session.is_none() {
            let made = outcome.structured.as_ref().and_then(|result| result["session_id"].as_str());
            self.line.session = made.map(|id| cut(id, MOST_NAME));
        }
    }

    fn close(mut self, outcome: &'static str, code: Option<&str>, result: Option<String>) -> Result<(), Failure> {
        self.line.result_hash = result;
        self.write(outcome, code)
    }

    /// `outcome` is one of few words, `code` what a failure is called.
    fn write(&mut self, outcome: &'static str, code: Option<&str>) -> Result<(), Failure> {
        self.ended = true;
        let ended = Instant::now();
        let spent = self.timings.spent(ended);
        let micros = |duration: std::time::Duration| duration.as_micros() as u64;
        let style = self.log.settings().paths;
        let shown = |path: &str| match style {
            Paths::Plain => cut(path, MOST_PATH),
            Paths::Hashed => digest(path.as_bytes()),
        };
        self.line.effects = self.before.take().map(|before| before.changes(shown)).unwrap_or_default();
        let used = self.uses.all().into_iter().take(effects::MOST);
        let used =
            used.map(|one| json!({"capability": one.capability.name(), "what": cut(&one.what, MOST_PATH), "refused": one.refused}));
        self.line.effects.extend(used);
        for path in &mut self.line.paths {
            *path = shown(path);
        }
        self.line.outcome = cut(code.unwrap_or(outcome), MOST_NAME);
        self.line.duration_us = Some(micros(ended - self.began));
        self.line.queue_us = spent.queue.map(micros);
        self.line.instantiate_us = spent.instantiate.map(micros);
        self.line.run_us = spent.run.map(micros);
        let line = &self.line;
        tracing::info!(
            target: "zipfs::call",
            what = line.tool_name,
            plugin = line.plugin,
            principal = line.principal,
            outcome = line.outcome,
            micros = line.duration_us,
        );
        self.observer.ended(&Ended {
            method: if line.kind == CALL { "tools/call" } else { &line.tool_name },
            tool: self.found.then_some(&line.tool_name),
            plugin: line.plugin.as_deref(),
            session: line.session.as_deref(),
            principal: &line.principal,
            transport: line.transport,
            request: &line.request_id,
            outcome,
            code,
            began: self.since,
            took: ended - self.began,
            spent,
            trace: self.trace,
        });
        self.log.add(line).map_err(|failure| self.discretion.tell(failure))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.ended {
            // Nobody waits for an answer that could be held back; what went wrong is in the log.
            let _ = self.write("abandoned", Some("ABANDONED"));
        }
    }
}

/// A text of others, cut at a character.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Of a structured result the SHA-256 of its JSON, keys in order; else of the blocks, each with its kind and length before it.
fn hash_of(outcome: &Outcome) -> String {
    if let Some(json) = outcome.json() {
        return digest(json.as_bytes());
    }
    let mut hasher = Hasher(Sha256::new());
    for content in &outcome.content {
        let (kind, bytes): (&str, &[u8]) = match content {
            Content::Text(text) => ("text", text.as_bytes()),
            Content::Image(blob) => ("image", &blob.data),
            Content::Audio(blob) => ("audio", &blob.data),
            Content::Embedded(resource) => match &resource.body {
                ResourceBody::Text(text) => ("resource", text.as_bytes()),
                ResourceBody::Bytes(bytes) => ("resource", bytes),
            },
            Content::Link(link) => ("link", link.uri.as_bytes()),
        };
        hasher.0.update(format!("{kind} {}\n", bytes.len()));
        hasher.0.update(bytes);
    }
    hex(&hasher.0.finalize())
}

struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
