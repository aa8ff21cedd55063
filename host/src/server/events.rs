//! Progress and log lines of a running call, on their way to its client.
// Logging is deprecated in the newest revision and still what clients of the older ones show.
#![allow(deprecated)]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::sandbox::guest::{Event, LogLevel};

/// What a client asked to hear about one call.
pub struct Wanted {
    pub progress: Option<ProgressToken>,
    pub log: Option<LoggingLevel>,
}

/// Carries events to the client while a call runs.
pub struct Forwarder(JoinHandle<()>);

impl Forwarder {
    /// Nothing is started for a call that nobody watches, which is most of them.
    pub fn start(peer: &Peer<RoleServer>, wanted: Wanted) -> (Option<UnboundedSender<Event>>, Option<Forwarder>) {
        if wanted.progress.is_none() && wanted.log.is_none() {
            return (None, None);
        }
        let (sender, mut events) = unbounded_channel();
        let peer = peer.clone();
        let task = tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match event {
                    Event::Progress { done, total, message } => {
                        let Some(token) = wanted.progress.clone() else { continue };
                        let mut report = ProgressNotificationParam::new(token, done);
                        report.total = total;
                        report.message = message;
                        let _ = peer.notify_progress(report).await;
                    }
                    Event::Log { level, message } => {
                        if wanted.log.is_some_and(|least| severity(level) >= severity_of(least)) {
                            let line = LoggingMessageNotificationParam::new(on_wire(level), message.into());
                            let _ = peer.notify_logging_message(line).await;
                        }
                    }
                }
            }
        });
        (Some(sender), Some(Forwarder(task)))
    }

    /// Waits until everything was sent: nothing may follow the result.
    pub async fn finish(self) {
        let _ = self.0.await;
    }
}

fn severity(level: LogLevel) -> u8 {
    level as u8
}

fn severity_of(level: LoggingLevel) -> u8 {
    level as u8
}

fn on_wire(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    }
}
