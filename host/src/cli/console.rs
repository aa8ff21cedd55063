//! What every command works with: how to print, and the gate, which is opened when it is first needed.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::OnceCell;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::sync::CancellationToken;

use super::args::Args;
use super::output::{print, print_json, remark};
use super::progress::Progress;
use super::wording;
use crate::config::Config;
use crate::failure::{Class, Failure};
use crate::gate::{Answer, Audience, Call, Gate};
use crate::sandbox::Shape;

pub struct Console {
    pub json: bool,
    pub quiet: bool,
    pub config: Config,
    gate: OnceCell<Arc<Gate>>,
}

impl Console {
    pub fn new(args: &Args, config: Config) -> Console {
        Console { json: args.json, quiet: args.quiet, config, gate: OnceCell::new() }
    }

    /// For what is asked on the side, where nothing may be said.
    pub fn silent(config: Config) -> Console {
        Console { json: true, quiet: true, config, gate: OnceCell::new() }
    }

    pub async fn gate(&self) -> Result<&Arc<Gate>, Failure> {
        self.gate.get_or_try_init(|| Gate::open(self.config.clone(), Shape::Command)).await
    }

    /// Calls a tool, and returns its structured result. This is all that commands do with a session.
    pub async fn ask(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let call = Call::local(tool, object(arguments));
        finished(self.gate().await?.call(call).await.map_err(|refusal| wording::for_a_shell(refusal.into_failure()))?)
    }

    /// The same for a tool that takes its time: what it reports is drawn while it runs, and Ctrl-C ends it in good order.
    pub async fn watch(&self, doing: &str, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let answer = self.run(doing, Call::local(tool, object(arguments))).await;
        finished(answer.map_err(wording::for_a_shell)?)
    }

    /// Runs a call, with its progress on the terminal if there is one.
    pub async fn run(&self, doing: &str, call: Call) -> Result<Answer, Failure> {
        let gate = self.gate().await?;
        // Listened to before anything is begun, so that no key is pressed in vain.
        let mut interrupts = signal(SignalKind::interrupt())
            .map_err(|error| Failure::internal(format!("Interrupts cannot be listened to: {error}.")))?;
        let (sender, mut events) = unbounded_channel();
        let cancel = CancellationToken::new();
        let audience = Audience { events: Some(sender), client: call.audience.client.clone() };
        let mut progress = Progress::new(doing, self.quiet);
        let mut running = std::pin::pin!(gate.call(Call { audience, cancel: cancel.clone(), ..call }));
        let answer = loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => progress.show(&event),
                answer = &mut running => break answer,
                Some(()) = interrupts.recv() => cancel.cancel(),
            }
        };
        progress.clear();
        answer.map_err(|refusal| refusal.into_failure())
    }

    /// Prints a result: as it is, or in the words of the command.
    pub fn show(&self, result: &Value, words: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        match self.json {
            true => print_json(result),
            false => print(&words(result)),
        }
    }

    /// The same for a command whose result is that it is done.
    pub fn confirm(&self, result: &Value, words: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        match self.quiet && !self.json {
            true => Ok(()),
            false => self.show(result, words),
        }
    }

    /// Says something on the side, unless only the result was asked for.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            remark(text);
        }
    }
}

/// Something is wrong with what was typed.
pub fn misused(message: impl Into<String>) -> Failure {
    Failure::new(Class::Invalid, "USAGE", message)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn finished(answer: Answer) -> Result<Value, Failure> {
    match answer {
        Answer::Complete(outcome) => outcome.structured.ok_or_else(|| Failure::internal("The tool gave no structured result.")),
        Answer::InputRequired(_) => Err(Failure::internal("The tool asks for input instead of answering.")),
    }
}
