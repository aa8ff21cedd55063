//! The old archive as packing needs it: its directory cut into records, and where the host says that each entry lies.

use crate::bytes::{Bytes, Window};
use crate::contract::{Error, Place};
use crate::failure::{internal, invalid};
use crate::fields::IN_ZIP64;
use crate::scan::{self, LocalHeader, Record, read_record};

/// An archive that was scanned before. Its records are not read again one by one: a kept one only changes its offset.
pub struct Old<'a, B: Bytes + ?Sized> {
    source: &'a B,
    pub places: &'a [Place],
    /// Numbers of the entries in the order of their contents.
    pub order: Vec<u32>,
    /// Where the contents of the first entry begin; what is before them is kept.
    pub prefix: u64,
    pub shift: u64,
    pub comment: Vec<u8>,
    /// Where the records are, and the end of the last one.
    records: Vec<u64>,
    locals: Window<'a, B>,
    centrals: Window<'a, B>,
}

impl<'a, B: Bytes + ?Sized> Old<'a, B> {
    pub fn read(source: &'a B, places: &'a [Place]) -> Result<Self, Error> {
        let mut window = Window::new(source);
        let end = scan::find_end(&mut window)?;
        if end.count != places.len() as u64 {
            return Err(internal("the archive has another number of entries than there are places"));
        }
        let mut records = Vec::with_capacity(places.len() + 1);
        let (mut at, stop) = (end.directory, end.directory + end.directory_len);
        for place in places {
            records.push(at);
            let (len, offset) = scan::measure_record(&mut window, at, stop)?;
            if offset != IN_ZIP64 && u64::from(offset).checked_add(end.shift) != Some(place.offset) {
                return Err(internal("an entry is not at its place"));
            }
            at += len as u64;
        }
        records.push(at);
        let mut order: Vec<u32> = (0..places.len() as u32).collect();
        order.sort_by_key(|&index| places[index as usize].offset);
        check_apart(places, &order, end.directory)?;
        let prefix = order.first().map_or(end.directory, |&first| places[first as usize].offset);
        let (shift, comment) = (end.shift, end.comment);
        Ok(Self { source, places, order, prefix, shift, comment, records, locals: Window::new(source), centrals: window })
    }

    pub fn source(&self) -> &'a B {
        self.source
    }

    /// The record of an entry in the directory, as it is.
    pub fn record_bytes(&mut self, index: usize) -> Result<&[u8], Error> {
        let (start, end) = (self.records[index], self.records[index + 1]);
        self.centrals.get(start, (end - start) as usize)
    }

    pub fn record(&mut self, index: usize) -> Result<Record, Error> {
        let shift = self.shift;
        read_record(self.record_bytes(index)?, shift)
    }

    /// The header before the contents of an entry.
    pub fn local(&mut self, index: usize) -> Result<LocalHeader<'_>, Error> {
        LocalHeader::read(&mut self.locals, self.places[index].offset)
    }
}

/// No entry may reach into the next one or into the directory.
fn check_apart(places: &[Place], order: &[u32], directory: u64) -> Result<(), Error> {
    let starts = order.iter().skip(1).map(|&next| places[next as usize].offset).chain([directory]);
    let overlaps = order.iter().zip(starts).any(|(&index, next)| {
        let place = &places[index as usize];
        place.offset.checked_add(place.span).is_none_or(|end| end > next)
    });
    if overlaps { Err(invalid("entries overlap")) } else { Ok(()) }
}
