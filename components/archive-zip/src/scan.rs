//! One strict reading of an archive's directory. Where two readers could see two different archives there is an error, never a
//! choice.

mod central;
mod eocd;
mod gaps;
pub(crate) mod kind;
mod limits;
mod local;
mod pairs;

pub use central::{measure_record, read_record};
pub use eocd::find as find_end;
pub use local::LocalHeader;

use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, Error, Limits, Listing};
use crate::oddities::{Layout, Oddities, warnings};

/// One entry, and what writing a changed archive needs to know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub entry: Entry,
    pub flags: u16,
    pub(crate) oddities: Oddities,
    /// Where its record in the directory begins.
    pub central_at: u64,
    pub central_len: usize,
}

/// An archive's directory, checked.
#[derive(Debug, Default)]
pub struct Directory {
    /// In the directory's order.
    pub records: Vec<Record>,
    /// Numbers of the records in the order of their contents.
    pub order: Vec<u32>,
    /// Offsets in the archive are too small by this much: something was put in front of it.
    pub shift: u64,
    /// The archive's comment.
    pub comment: Vec<u8>,
    pub(crate) layout: Layout,
}

impl Directory {
    /// As the contract wants it.
    pub fn into_listing(self) -> Listing {
        let warnings = warnings(&self.layout, &self.records);
        Listing { entries: self.records.into_iter().map(|record| record.entry).collect(), warnings }
    }
}

/// Limits that nothing passes, for an archive that was let in before.
pub const NO_LIMITS: Limits =
    Limits { max_entries: u64::MAX, max_total_size: u64::MAX, max_ratio: u64::MAX, ratio_min_size: u64::MAX };

/// Reads and checks the directory. Cheap checks come first, so that a bomb is refused before it costs anything.
pub fn scan<B: Bytes + ?Sized>(source: &B, limits: &Limits) -> Result<Directory, Error> {
    let mut window = Window::new(source);
    let end = eocd::find(&mut window)?;
    limits::check_count(end.count, limits)?;
    let mut records = central::read_all(&mut window, &end)?;
    pairs::check(&mut records)?;
    limits::check_sizes(&records, limits)?;
    let (order, mut layout) = local::walk(&mut window, &mut records, end.directory)?;
    eocd::check_rivals(&end.rivals, &records, &order)?;
    layout.end_gap = end.has_gap;
    Ok(Directory { records, order, shift: end.shift, comment: end.comment, layout })
}
