//! A changed archive: what did not change is copied as it is, the rest is written new, and the directory is put behind it.

mod directory;
mod header;
mod old;
mod plan;
mod staging;

pub use staging::Staging;

use crate::bytes::{Bytes, Window};
use crate::contract::{Change, Entry, EntryKind, Error, Place, Prepared, ReplacementEntry};
use crate::extra::MIN_PADDING;
use crate::failure::internal;
use crate::scan::read_record;
use directory::{Central, write_directory, write_end};
use header::Header;
use old::Old;
use plan::{Fate, Plan};

/// Where an archive is written: the host's `staged`, or memory in a test.
pub trait Output {
    type Source: Bytes + ?Sized;
    /// Adds bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// Adds a range of a source.
    fn append_from(&mut self, source: &Self::Source, offset: u64, len: u64) -> Result<(), String>;
    /// The size of blocks that can be shared instead of copied; 0 if none can.
    fn block_size(&self) -> u32;
}

/// Contents up to this size pass through us, gathered with their headers; larger ones the host copies.
const GATHERED: u64 = 64 << 10;
/// What has to be kept behind an entry to make it worth padding.
const WORTH_SHARING: u64 = 1 << 20;
/// The first entry of an EPUB, which must have no extra field, so no padding either.
const MIMETYPE: &[u8] = b"mimetype";

/// Writes the archive that results from `changes`, and returns the entries that are new in it, in the order of the directory.
///
/// Entries keep their place in the file and in the directory; new ones come last. Bytes before the first entry stay, so a
/// self-extractor stays one; bytes between entries belong to nobody and go.
pub fn pack<O: Output>(
    source: Option<&O::Source>,
    places: &[Place],
    changes: &[Change],
    scratch: &O::Source,
    output: &mut O,
) -> Result<Vec<Entry>, Error> {
    let mut old = source.map(|source| Old::read(source, places)).transpose()?;
    let plan = Plan::new(old.as_ref().map_or(0, |old| old.places.len()), changes)?;
    let (shift, comment) = old.as_ref().map_or((0, Vec::new()), |old| (old.shift, old.comment.clone()));
    let block = u64::from(output.block_size());
    let mut writer = Writer { staging: Staging::new(output), scratch, small: Window::new(scratch), shift };
    let mut centrals: Vec<Option<Central>> = Vec::new();
    centrals.resize_with(plan.fates.len(), || None);
    let mut written: Vec<(usize, Entry)> = Vec::new();

    if let Some(old) = &mut old {
        let source = old.source();
        writer.staging.copy(source, 0, old.prefix)?;
        for (turn, index) in old.order.clone().into_iter().map(|index| index as usize).enumerate() {
            let place = &old.places[index];
            centrals[index] = match plan.fates[index] {
                Fate::Remove => None,
                Fate::Keep => {
                    let offset = writer.staging.position();
                    writer.staging.copy(source, place.offset, place.span)?;
                    Some(Central::Kept { index, offset })
                }
                Fate::Replace(with) => {
                    let mut header = renewed(old, index, with)?;
                    if block > 0 && !(turn == 0 && header.is_named(MIMETYPE)) {
                        let kept = kept_behind(old, &plan, turn);
                        writer.align(&mut header, &with.contents, kept, block)?;
                    }
                    let (entry, bytes) = writer.write(&header, &with.contents)?;
                    written.push((index, entry));
                    Some(Central::New(bytes))
                }
            };
        }
    }
    written.sort_by_key(|(index, _)| *index);
    let mut written: Vec<Entry> = written.into_iter().map(|(_, entry)| entry).collect();
    for new in &plan.added {
        let (entry, bytes) = writer.write(&Header::of_new(new), &new.contents)?;
        written.push(entry);
        centrals.push(Some(Central::New(bytes)));
    }

    let mut staging = writer.staging;
    let directory_at = staging.position();
    let count = centrals.iter().flatten().count() as u64;
    write_directory(&mut staging, old.as_mut(), centrals.into_iter().flatten())?;
    write_end(&mut staging, count, directory_at, shift, &comment)?;
    staging.finish()?;
    Ok(written)
}

/// The header for new contents under an old name.
fn renewed<B: Bytes + ?Sized>(old: &mut Old<B>, index: usize, with: &ReplacementEntry) -> Result<Header, Error> {
    if old.record(index)?.entry.kind != EntryKind::File {
        return Err(internal(format!("entry {index} is no file and cannot get contents")));
    }
    let local_extra = old.local(index)?.extra.to_vec();
    Ok(Header::renewed(old.record_bytes(index)?, &local_extra, with))
}

/// The stretch of the source that is kept, without a gap, right behind the entry whose turn it is: where it begins and how long it is.
fn kept_behind<B: Bytes + ?Sized>(old: &Old<B>, plan: &Plan, turn: usize) -> (u64, u64) {
    let mut stretch: Option<(u64, u64)> = None;
    for &index in &old.order[turn + 1..] {
        let place = &old.places[index as usize];
        match (&mut stretch, plan.fates[index as usize]) {
            (None, Fate::Keep) => stretch = Some((place.offset, place.span)),
            (Some((start, len)), Fate::Keep) if *start + *len == place.offset => *len += place.span,
            _ => break,
        }
        if stretch.is_some_and(|(_, len)| len >= WORTH_SHARING) {
            break;
        }
    }
    stretch.unwrap_or_default()
}

/// What was prepared, put into the archive.
struct Writer<'a, O: Output> {
    staging: Staging<'a, O>,
    scratch: &'a O::Source,
    /// Through which small contents are read.
    small: Window<'a, O::Source>,
    shift: u64,
}

impl<O: Output> Writer<'_, O> {
    /// Writes an entry, and makes its record for the directory. The record is read back by the same code that scans, so the entry
    /// cannot say anything else than what was written.
    fn write(&mut self, header: &Header, contents: &Prepared) -> Result<(Entry, Vec<u8>), Error> {
        let offset = self.staging.position();
        self.staging.write(&header.local(contents)?)?;
        if contents.compressed_size <= GATHERED {
            self.staging.write(self.small.get(contents.offset, contents.compressed_size as usize)?)?;
        } else {
            self.staging.copy(self.scratch, contents.offset, contents.compressed_size)?;
        }
        let bytes = header.central(contents, offset - self.shift)?;
        let mut entry = read_record(&bytes, self.shift)?.entry;
        entry.span = self.staging.position() - offset;
        Ok((entry, bytes))
    }

    /// Makes an entry that is about to be written so long that what is `kept` behind it begins as far behind a block's beginning as
    /// it did.
    fn align(&self, header: &mut Header, contents: &Prepared, (start, len): (u64, u64), block: u64) -> Result<(), Error> {
        if len < WORTH_SHARING {
            return Ok(());
        }
        let end = self.staging.position() + header.local(contents)?.len() as u64 + contents.compressed_size;
        let mut missing = (start % block + block - end % block) % block;
        while missing > 0 && missing < MIN_PADDING as u64 {
            missing += block;
        }
        if missing > 0 {
            // Without the padding what follows is copied, which only takes longer.
            header.pad(missing as usize);
        }
        Ok(())
    }
}
