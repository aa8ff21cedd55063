//! `progress`: reports of a running call, passed to whoever listens.

use std::time::{Duration, Instant};

use wasmtime::Result;

use crate::sandbox::bindings::plugin::zipfs::plugin::progress::Host;
use crate::sandbox::guest::{Event, Guest};

/// A client redraws a few times a second. More reports are noise, and would pile up here if the client does not read them.
/// Test: `security::hostile::flood_progress`.
const EVERY: Duration = Duration::from_millis(20);

/// What was passed on so far.
#[derive(Debug, Default)]
pub struct Reported {
    done: Option<f64>,
    at: Option<Instant>,
    completed: bool,
}

impl Reported {
    /// Whether a report should be passed on: it goes forward, and it is not too soon or it is the last one.
    pub fn lets_pass(&mut self, done: f64, total: Option<f64>) -> bool {
        // Clients may drop a call whose progress goes backwards; a guest cannot make us send that.
        if !done.is_finite() || !total.is_none_or(f64::is_finite) || self.done.is_some_and(|before| done <= before) {
            return false;
        }
        let completes = total.is_some_and(|total| done >= total) && !std::mem::replace(&mut self.completed, true);
        if !completes && self.at.is_some_and(|at| at.elapsed() < EVERY) {
            return false;
        }
        (self.done, self.at) = (Some(done), Some(Instant::now()));
        true
    }
}

impl Host for Guest {
    fn report(&mut self, done: f64, total: Option<f64>, message: Option<String>) -> Result<()> {
        if let Some(events) = &self.call.events
            && self.reported.lets_pass(done, total)
        {
            let message = message.map(|text| cut(text, 200));
            let _ = events.send(Event::Progress { done, total, message });
        }
        Ok(())
    }
}

/// Cuts a text at a character boundary.
pub fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_go_forward_and_do_not_flood() {
        let mut reported = Reported::default();
        assert!(reported.lets_pass(0.0, Some(100.0)));
        assert!(!reported.lets_pass(1.0, Some(100.0)), "too soon");
        assert!(reported.lets_pass(100.0, Some(100.0)), "the last one is never too soon");
        assert!(!reported.lets_pass(101.0, Some(100.0)), "but there is only one last one");
        std::thread::sleep(EVERY);
        assert!(!reported.lets_pass(50.0, None), "backwards");
        assert!(!reported.lets_pass(f64::NAN, None));
        assert!(reported.lets_pass(102.0, None));
    }
}
