//! What the host tells of itself to those who run it: numbers for Prometheus, traces and numbers for OpenTelemetry.
//!
//! What happened in a call is said once, when it is over, by the gate.

mod collector;
mod log;
mod meters;
mod otlp;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

pub use log::start_log;
pub use meters::{Meters, State};
pub use otlp::Otlp;

use crate::config::Telemetry;
use crate::failure::Failure;
use crate::gate::Trace;
use crate::sandbox::timings::Spent;

/// Who is told when a call is over.
#[derive(Default)]
pub struct Observer {
    pub meters: Meters,
    otlp: OnceLock<Otlp>,
}

impl Observer {
    /// Starts to tell a collector too, if one is configured. For servers: what a command does is over too soon.
    pub fn start(&self, settings: &Telemetry) -> Result<(), Failure> {
        if let Some(otlp) = Otlp::start(settings)? {
            let _ = self.otlp.set(otlp);
        }
        Ok(())
    }

    pub fn ended(&self, ended: &Ended<'_>) {
        self.meters.count(ended);
        if let Some(otlp) = self.otlp.get() {
            otlp.send(ended);
        }
    }

    /// Sends what is left, before the process ends.
    pub async fn stop(self: &Arc<Observer>) {
        if self.otlp.get().is_some() {
            let this = self.clone();
            let _ = tokio::task::spawn_blocking(move || this.otlp.get().map(Otlp::stop)).await;
        }
    }
}

/// A call that is over.
pub struct Ended<'a> {
    /// `tools/call`, or the method that reads.
    pub method: &'a str,
    /// The tool, if there is one of that name.
    pub tool: Option<&'a str>,
    pub plugin: Option<&'a str>,
    pub session: Option<&'a str>,
    pub principal: &'a str,
    pub transport: &'static str,
    pub request: &'a str,
    /// `ok`, `input-required`, or the class of a failure: there are few, while every plugin has codes of its own.
    pub outcome: &'static str,
    /// The code of a failure.
    pub code: Option<&'a str>,
    pub began: SystemTime,
    pub took: Duration,
    pub spent: Spent,
    pub trace: Option<Trace>,
}
