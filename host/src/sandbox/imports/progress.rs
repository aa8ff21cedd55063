//! `progress`: reports of a running call, passed to whoever listens.

use wasmtime::Result;

use crate::sandbox::bindings::plugin::zipfs::plugin::progress::Host;
use crate::sandbox::guest::{Event, Guest};

impl Host for Guest {
    fn report(&mut self, done: f64, total: Option<f64>, message: Option<String>) -> Result<()> {
        // Clients may drop a call whose progress goes backwards; a guest cannot make us send that.
        if done.is_finite() && done > self.progressed && total.is_none_or(f64::is_finite) {
            self.progressed = done;
            if let Some(events) = &self.call.events {
                let message = message.map(|text| cut(text, 200));
                let _ = events.send(Event::Progress { done, total, message });
            }
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
