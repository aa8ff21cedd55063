//! Sharing the work of one call over the host's cores.
//!
//! A guest has one thread. A tool with much to do cuts it into parts, says with [`Tool::parts`](crate::Tool::parts) how one is
//! done, and calls [`map`]; the host runs the parts in instances of their own, side by side. A part sees the workspace, read-only,
//! and nothing of the call but what it is given. In a unit test the parts are done one after the other.

use serde::{Serialize, de::DeserializeOwned};

use crate::Error;
use crate::plugin::to_json;

/// Does the parts, at most 1,024, and returns their results in the same order. The first error stops the rest.
pub fn map<Part: Serialize, Done: DeserializeOwned>(parts: &[Part]) -> Result<Vec<Done>, Error> {
    let texts: Vec<String> = parts.iter().map(to_json).collect::<Result<_, _>>()?;
    let done = run(&texts)?;
    let odd = |error| Error::internal("INTERNAL_ERROR", format!("The result of a part is odd: {error}."));
    done.iter().map(|text| serde_json::from_str(text).map_err(odd)).collect()
}

#[cfg(target_family = "wasm")]
fn run(parts: &[String]) -> Result<Vec<String>, Error> {
    Ok(crate::bindings::plugin::zipfs::plugin::parallel::run(parts)?)
}

#[cfg(not(target_family = "wasm"))]
fn run(parts: &[String]) -> Result<Vec<String>, Error> {
    let worker = crate::testing::stage::with(|stage| stage.part_worker.clone()).flatten();
    let worker = worker.ok_or_else(|| Error::internal("INTERNAL_ERROR", "The tool has no parts."))?;
    parts.iter().map(|part| worker(part)).collect()
}
