//! `grants`: what a call may do, told to its guest, so that it can say what is missing before it tries.

use wasmtime::Result;

use crate::sandbox::bindings::plugin::zipfs::plugin::grants::{Granted, Host};
use crate::sandbox::bindings::types::Error;
use crate::sandbox::guest::Guest;

impl Host for Guest {
    fn list_grants(&mut self) -> Result<Vec<Granted>> {
        let given = self.call.equipment.given.iter().map(|(kind, name)| Granted { kind: (*kind).to_owned(), name: name.clone() });
        Ok(given.collect())
    }

    fn last_refusal(&mut self) -> Result<Option<Error>> {
        Ok(self.call.uses.last_refusal().map(Error::from))
    }
}
