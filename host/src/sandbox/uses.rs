//! What a call used of its capabilities, and what it was refused: for its author, for the record, and for the guest's own errors.

use std::sync::{Mutex, MutexGuard};

use crate::failure::Failure;
use crate::sandbox::Capability;

/// Different uses that are remembered of one call. A guest that tries a thousand hosts is known after these.
const MOST: usize = 64;

/// The list of one call.
#[derive(Debug, Default)]
pub struct Uses(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    uses: Vec<Use>,
    last_refusal: Option<Failure>,
}

/// One thing that was used, or that somebody tried to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    pub capability: Capability,
    /// In the words of a grant: `GET https://api.example.com:443`.
    pub what: String,
    /// The code of the refusal; `None` if it was let pass.
    pub refused: Option<String>,
}

impl Uses {
    pub fn note(&self, capability: Capability, what: impl Into<String>) {
        self.inner().add(Use { capability, what: what.into(), refused: None });
    }

    /// Notes a refusal, and gives it back to be told.
    pub fn refuse(&self, capability: Capability, what: impl Into<String>, failure: Failure) -> Failure {
        let mut inner = self.inner();
        inner.add(Use { capability, what: what.into(), refused: Some(failure.code.clone().into_owned()) });
        inner.last_refusal = Some(failure.clone());
        failure
    }

    pub fn last_refusal(&self) -> Option<Failure> {
        self.inner().last_refusal.clone()
    }

    pub fn all(&self) -> Vec<Use> {
        self.inner().uses.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    fn add(&mut self, one: Use) {
        if self.uses.len() < MOST && !self.uses.contains(&one) {
            self.uses.push(one);
        }
    }
}
