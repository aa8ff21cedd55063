//! `client`: what the far end of the call can do.

use wasmtime::Result;

use crate::sandbox::bindings::plugin::zipfs::plugin::client::{Abilities, Host};
use crate::sandbox::guest::Guest;

impl Host for Guest {
    fn get_abilities(&mut self) -> Result<Abilities> {
        let client = &self.call.client;
        Ok(Abilities { elicitation: client.elicitation, sampling: client.sampling, roots: client.roots })
    }

    fn get_revision(&mut self) -> Result<String> {
        Ok(self.call.client.revision.clone())
    }
}
