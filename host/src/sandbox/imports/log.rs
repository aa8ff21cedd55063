//! `log`: lines of a running call, to the host's log and to a client that asked for them.

use wasmtime::Result;

use super::progress::cut;
use crate::sandbox::bindings::plugin::zipfs::plugin::log::{Host, Level};
use crate::sandbox::guest::{Event, Guest, LogLevel};

/// Longer lines are cut. A log line is for people.
const MOST_LINE: usize = 8 << 10;

impl Host for Guest {
    fn write(&mut self, level: Level, message: String) -> Result<()> {
        let message = cut(message, MOST_LINE.min(self.log_left));
        self.log_left -= message.len();
        if message.is_empty() {
            return Ok(());
        }
        let level = LogLevel::from(level);
        let plugin = &*self.call.label;
        match level {
            LogLevel::Debug => tracing::debug!(plugin, "{message}"),
            LogLevel::Info | LogLevel::Notice => tracing::info!(plugin, "{message}"),
            LogLevel::Warning => tracing::warn!(plugin, "{message}"),
            _ => tracing::error!(plugin, "{message}"),
        }
        if let Some(events) = &self.call.events {
            let _ = events.send(Event::Log { level, message });
        }
        Ok(())
    }
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> LogLevel {
        match level {
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Notice => LogLevel::Notice,
            Level::Warning => LogLevel::Warning,
            Level::Error => LogLevel::Error,
            Level::Critical => LogLevel::Critical,
            Level::Alert => LogLevel::Alert,
            Level::Emergency => LogLevel::Emergency,
        }
    }
}
