//! The interface `endpoints` in a unit test: there is no host to ask, and nothing here pretends to be one.

use crate::bindings::plugin::zipfs::plugin::endpoints::UnaryReply;
use crate::bindings::plugin::zipfs::plugin::types::Error;

pub(crate) enum Connection {}

impl Connection {
    pub(crate) fn send(&self, _: &[u8]) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn finish(&self) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) fn receive(&self, _: u32) -> Result<Vec<u8>, Error> {
        match *self {}
    }
}

pub(crate) fn connect(_: &str) -> Result<Connection, Error> {
    Err(needs_the_host())
}

pub(crate) fn unary(_: &str, _: &str, _: &[(String, String)], _: &[u8], _: Option<u32>) -> Result<UnaryReply, Error> {
    Err(needs_the_host())
}

fn needs_the_host() -> Error {
    crate::Error::internal("HOST_NEEDED", "Endpoints exist in the host only; a unit test has none.").into()
}
