//! How many calls of one principal run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::principal::Principal;
use crate::failure::{Class, Failure};

/// The running calls, counted by principal. Those that run none are not in it.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<Arc<str>, u32>>);

impl Turns {
    /// Counts a call until what is returned is dropped. One too many is refused rather than kept waiting: a queue for each
    /// principal would be one more thing to fill. Test: `security::serve::principals::calls_at_once_are_bounded`.
    pub fn take(self: &Arc<Turns>, principal: &Principal) -> Result<Turn, Failure> {
        let mut running = self.lock();
        let most = principal.limits.concurrent_calls;
        let own = running.entry(principal.id.clone()).or_insert(0);
        if *own >= most {
            if *own == 0 {
                running.remove(&principal.id);
            }
            return Err(Failure::new(Class::Busy, "BUSY", format!("{most} calls of yours are running, and no more may."))
                .suggest("Try again when one of them has ended."));
        }
        *own += 1;
        Ok(Turn { turns: self.clone(), principal: principal.id.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, u32>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A call that is counted.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    principal: Arc<str>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        if let Some(own) = running.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                running.remove(&self.principal);
            }
        }
    }
}
