//! `secrets`: the names of all secrets of a call, and the bytes of those that its guest has to compute with.

use wasmtime::Result;

use super::files::not_declared;
use crate::failure::{Class, Failure};
use crate::sandbox::Capability;
use crate::sandbox::bindings::plugin::zipfs::plugin::secrets::Host;
use crate::sandbox::bindings::types::Error;
use crate::sandbox::guest::Guest;

/// A secret of a call.
pub struct NamedSecret {
    pub name: String,
    /// `None` for one that the host sends itself.
    pub bytes: Option<Vec<u8>>,
}

impl Host for Guest {
    fn names(&mut self) -> Result<Vec<String>> {
        Ok(self.call.equipment.secrets.iter().map(|secret| secret.name.clone()).collect())
    }

    fn reveal(&mut self, name: String) -> Result<std::result::Result<Vec<u8>, Error>> {
        let refuse = |failure: Failure| Ok(Err(self.call.uses.refuse(Capability::Secret, name.clone(), failure).into()));
        if !self.has(Capability::Secret) {
            return refuse(Failure::from(not_declared(Capability::Secret)));
        }
        match self.call.equipment.secrets.iter().find(|secret| secret.name == name) {
            Some(NamedSecret { bytes: Some(bytes), .. }) => {
                self.call.uses.note(Capability::Secret, name);
                Ok(Ok(bytes.clone()))
            }
            Some(_) => {
                let message = format!("The secret {name:?} is sent by the host and is not shown to plugins.");
                refuse(Failure::new(Class::Forbidden, "SECRET_HIDDEN", message))
            }
            None => {
                let message = format!("There is no such secret for this call: {name:?}.");
                let next = format!("Who runs this host can store it: zipfs plugin grant {} secret={name}", self.call.label);
                refuse(Failure::new(Class::Forbidden, "SECRET_REFUSED", message).suggest(next))
            }
        }
    }
}
