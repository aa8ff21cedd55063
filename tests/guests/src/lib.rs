//! What the guests share: the harmless tool that stands beside each crime, and the forms in which they say what came of it.

#![forbid(unsafe_code)]

pub mod web;

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Serialize;
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::Descriptor;
use zipfs_sdk::{Error, NoArguments, Tool};

/// A tool that does nothing, so that a test can show that the next call works.
pub fn harmless(name: &'static str) -> Tool {
    #[derive(Serialize, JsonSchema)]
    struct Fine {
        ok: bool,
    }
    Tool::new(name, "Does nothing. Returns {ok}.", |_: NoArguments| Ok(Fine { ok: true })).idempotent(true)
}

/// The handle to the workspace as WASI gives it, without the SDK's manners in between.
pub fn root() -> Result<Descriptor, Error> {
    let first = get_directories().into_iter().next();
    first.map(|(root, _)| root).ok_or_else(|| Error::not_found("NO_WORKSPACE", "The host gave no directory."))
}

/// How far a guest came that takes without end, and what stopped it.
#[derive(Serialize, JsonSchema)]
pub struct Stopped {
    /// Bytes, files or whatever the guest takes.
    pub taken: u64,
    /// What the refusal was called.
    pub error: String,
}

/// Runs `take` until it is refused. It is told how much was taken before, and returns how much it took.
pub fn until_refused<E: Display>(mut take: impl FnMut(u64) -> Result<u64, E>) -> Result<Stopped, Error> {
    let mut taken = 0;
    loop {
        match take(taken) {
            Ok(more) => taken += more,
            Err(error) => return Ok(Stopped { taken, error: error.to_string() }),
        }
    }
}

/// A list of things that a guest tried.
#[derive(Default, Serialize, JsonSchema)]
pub struct Attempts {
    attempts: Vec<Attempt>,
}

#[derive(Serialize, JsonSchema)]
struct Attempt {
    what: String,
    refused: bool,
    /// What the refusal was called; empty where there was none.
    error: String,
}

impl Attempts {
    /// Notes what came of one of them.
    pub fn note<T, E: Display>(&mut self, what: &str, result: Result<T, E>) {
        let error = result.err().map(|error| error.to_string());
        self.attempts.push(Attempt { what: what.to_owned(), refused: error.is_some(), error: error.unwrap_or_default() });
    }
}
