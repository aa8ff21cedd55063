//! What guests reached for, for those who want to know: an author who asks what a plugin really needs.
//!
//! A gate that serves calls has no witness. Nothing is allowed or refused because of one.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something that a guest did or was refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Looked at a file or directory of the workspace.
    Read,
    /// Tried to change one.
    Write,
    /// Used a capability that has to be granted, by its name.
    Capability(&'static str),
    /// The same for one that is told apart by what it reaches: `http` and `api.example.com:443`.
    Named(&'static str, String),
}

/// Remembers, for as long as it is asked.
#[derive(Debug, Default)]
pub struct Witness {
    reached: Mutex<BTreeSet<Reach>>,
    most_memory: AtomicU64,
}

/// A guest in a loop could fill the list. Test: `functional::author::attempts_are_listed_and_the_smallest_manifest_is_proposed`.
const MOST_REACHES: usize = 256;

impl Witness {
    pub fn saw(&self, reach: Reach) {
        let mut reached = self.reached.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if reached.len() < MOST_REACHES {
            reached.insert(reach);
        }
    }

    pub fn saw_memory(&self, bytes: u64) {
        self.most_memory.fetch_max(bytes, Ordering::Relaxed);
    }

    /// What was seen since this was last asked.
    pub fn take(&self) -> BTreeSet<Reach> {
        std::mem::take(&mut *self.reached.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// The most memory that one guest had since this was last asked.
    pub fn take_memory(&self) -> u64 {
        self.most_memory.swap(0, Ordering::Relaxed)
    }
}
