//! When a call reached which point of its life in the sandbox: waiting for its place, getting its instance, running.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Filled in while a call runs, and read when it is over, whatever its end was.
#[derive(Debug, Default)]
pub struct Timings {
    asked: OnceLock<Instant>,
    placed: OnceLock<Instant>,
    instantiated: OnceLock<Instant>,
    memory: AtomicU64,
}

/// How long each took. What was not reached is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub queue: Option<Duration>,
    pub instantiate: Option<Duration>,
    pub run: Option<Duration>,
    /// The most linear memory that the guest had, in bytes.
    pub memory: u64,
}

impl Timings {
    pub fn asked(&self) {
        let _ = self.asked.set(Instant::now());
    }

    pub fn placed(&self) {
        let _ = self.placed.set(Instant::now());
    }

    pub fn instantiated(&self) {
        let _ = self.instantiated.set(Instant::now());
    }

    pub fn grew(&self, memory: u64) {
        self.memory.fetch_max(memory, Ordering::Relaxed);
    }

    /// What came of it, now that it is over.
    pub fn spent(&self, ended: Instant) -> Spent {
        let between =
            |from: Option<&Instant>, to: Option<&Instant>| from.map(|from| to.unwrap_or(&ended).saturating_duration_since(*from));
        let (asked, placed, instantiated) = (self.asked.get(), self.placed.get(), self.instantiated.get());
        Spent {
            queue: between(asked, placed),
            instantiate: between(placed, instantiated),
            run: between(instantiated, None),
            memory: self.memory.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_got_no_place_spent_its_time_in_the_queue() {
        let timings = Timings::default();
        timings.asked();
        let spent = timings.spent(Instant::now() + Duration::from_secs(1));
        assert!(spent.queue.unwrap() >= Duration::from_secs(1));
        assert_eq!((spent.instantiate, spent.run), (None, None));
    }
}
