//! Reading back what was written: everything that extracting checks, and nothing is kept.

use crate::bytes::Bytes;
use crate::contract::{Entry, Error};
use crate::extract::{Create, extract};

/// Unpacks the files among `entries` and checks each against its size and checksum.
pub fn verify<B: Bytes + ?Sized>(source: &B, entries: &[Entry]) -> Result<(), Error> {
    extract(source, entries, &mut Nowhere)
}

struct Nowhere;

impl Create for Nowhere {
    type File = ();

    fn create(&mut self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn write(&mut self, _: &(), _: u64, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self, _: (), _: Option<i64>) -> Result<(), Error> {
        Ok(())
    }
}
