//! A progress bar on standard error while a call runs, if standard error is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::sandbox::guest::Event;

/// Calls that are over sooner leave the terminal alone.
const PATIENCE: Duration = Duration::from_millis(100);

pub struct Progress(ProgressBar);

impl Progress {
    /// A spinner, until the call says how much there is to do.
    pub fn new(doing: &str, quiet: bool) -> Progress {
        // Draws nothing where standard error is no terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target).with_prefix(doing.to_owned());
        bar.set_style(style("{spinner} {prefix} {msg}"));
        bar.enable_steady_tick(PATIENCE);
        Progress(bar)
    }

    pub fn show(&mut self, event: &Event) {
        let Event::Progress { done, total, message } = event else { return };
        if let Some(total) = total
            && self.0.length().is_none()
        {
            self.0.set_style(style("{prefix} {wide_bar} {pos}/{len} {msg}"));
            self.0.set_length(*total as u64);
        }
        self.0.set_position(*done as u64);
        if let Some(message) = message {
            // The message may name a file of the archive.
            self.0.set_message(message.chars().filter(|c| !c.is_control()).collect::<String>());
        }
    }

    /// Bytes that have come, of as many as are known to be on the way.
    pub fn bytes(&self, done: u64, total: Option<u64>) {
        if let Some(total) = total
            && self.0.length().is_none()
        {
            self.0.set_style(style("{prefix} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec}"));
            self.0.set_length(total);
        }
        if total.is_none() {
            self.0.set_message(format!("{done} bytes"));
        }
        self.0.set_position(done);
    }

    pub fn clear(self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
