//! What the host calls, joined to the logic.
#![allow(unsafe_code)] // In the generated exports.

use crate::bytes::Bytes;
use crate::contract::{Change, Entry, Error, Guest, Limits, Listing, Place, Prepared, Source, Staged, Wanted};
use crate::pack::Output;
use crate::workspace::Workspace;
use crate::{extract, pack, prepare, scan, verify};

struct ZipDriver;

impl Guest for ZipDriver {
    fn scan(source: &Source, limits: Limits) -> Result<Listing, Error> {
        scan::scan(source, &limits).map(scan::Directory::into_listing)
    }

    fn extract(source: &Source, entries: Vec<Entry>) -> Result<(), Error> {
        extract::extract(source, &entries, &mut Workspace::for_writing()?)
    }

    fn verify(source: &Source, entries: Vec<Entry>) -> Result<(), Error> {
        verify::verify(source, &entries)
    }

    fn prepare(files: Vec<Wanted>, scratch: &Staged) -> Result<Vec<Prepared>, Error> {
        prepare::prepare(&files, &mut Workspace::for_reading()?, &mut { scratch })
    }

    fn pack(
        source: Option<&Source>,
        places: Vec<Place>,
        changes: Vec<Change>,
        scratch: &Source,
        staged: &Staged,
    ) -> Result<Vec<Entry>, Error> {
        pack::pack(source, &places, &changes, scratch, &mut { staged })
    }
}

impl Bytes for Source {
    fn size(&self) -> u64 {
        Source::size(self)
    }

    fn read(&self, offset: u64, len: u32) -> Vec<u8> {
        Source::read(self, offset, len)
    }
}

impl Output for &Staged {
    type Source = Source;

    fn append(&mut self, bytes: &[u8]) -> Result<(), String> {
        Staged::append(self, bytes)
    }

    fn append_from(&mut self, source: &Source, offset: u64, len: u64) -> Result<(), String> {
        Staged::append_from(self, source, offset, len)
    }

    fn block_size(&self) -> u32 {
        Staged::block_size(self)
    }
}

crate::contract::export!(ZipDriver with_types_in crate::contract);
