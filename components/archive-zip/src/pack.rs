//! A changed archive: what did not change is copied as it is, the rest is written new, and the directory is put behind it.

mod contents;
mod directory;
mod header;
mod plan;
mod staging;

use crate::bytes::{Bytes, Window};
use crate::contract::{Change, Error, Listing, ReplacementEntry};
use crate::oddities::Layout;
use crate::scan::{Directory, LocalHeader, NO_LIMITS, Record, check_pairs, read_record, scan};
use contents::{Measured, Packer};
use directory::{Central, write_directory, write_end};
use header::Header;
use plan::{Fate, Plan};
use staging::Staging;

/// Where an archive is written: the host's `staged`, or memory in a test.
pub trait Output {
    type Source: Bytes + ?Sized;
    /// Adds bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// Adds a range of the source.
    fn append_from(&mut self, source: &Self::Source, offset: u64, len: u64) -> Result<(), String>;
}

/// Where new contents come from: the workspace, or memory in a test.
pub trait Contents {
    type File;
    /// Opens a regular file and says how large it is. Links are not followed.
    fn open(&mut self, path: &str) -> Result<(Self::File, u64), Error>;
    /// What a link says. It is not followed.
    fn read_link(&mut self, path: &str) -> Result<String, Error>;
    /// Reads up to `len` bytes; none only at the end.
    fn read(&mut self, file: &Self::File, offset: u64, len: u32) -> Result<Vec<u8>, Error>;
}

/// Writes the archive that results from `changes`, and returns its listing: the same that a scan of the result gives.
///
/// Entries keep their place in the file and in the directory; new ones come last. Bytes before the first entry stay, so a
/// self-extractor stays one; bytes between entries belong to nobody and go.
pub fn pack<O: Output, C: Contents>(
    source: Option<&O::Source>,
    changes: &[Change],
    files: &mut C,
    output: &mut O,
) -> Result<Listing, Error> {
    let old = source.map_or_else(|| Ok(Directory::default()), |source| scan(source, &NO_LIMITS))?;
    let plan = Plan::new(&old.records, changes)?;
    let mut staging = Staging::new(output);
    let mut packer = Packer::new(files);
    let mut kept: Vec<Option<Record>> = old.records.into_iter().map(Some).collect();
    let mut centrals: Vec<Option<Central>> = Vec::new();
    centrals.resize_with(kept.len(), || None);

    if let Some(source) = source {
        let mut headers = OldHeaders { locals: Window::new(source), centrals: Window::new(source) };
        staging.copy(source, 0, old.layout.prefix)?;
        for index in old.order.iter().map(|&index| index as usize) {
            let Some(record) = kept[index].take() else { continue };
            centrals[index] = match plan.fates[index] {
                Fate::Remove => None,
                Fate::Keep => {
                    let offset = staging.position();
                    staging.copy(source, record.entry.offset, record.entry.span)?;
                    Some(Central::Kept { record, offset })
                }
                Fate::Replace(with) => {
                    let header = headers.renewed(&record, with)?;
                    let write = |header: &mut Header, staging: &mut Staging<O>| {
                        packer.write_file(staging, &record.entry.path, header, plan::wish_for(record.entry.method))
                    };
                    Some(write_entry(&mut staging, header, old.shift, write)?)
                }
            };
        }
    }
    for new in &plan.added {
        let write = |header: &mut Header, staging: &mut Staging<O>| packer.write_new(staging, new, header);
        centrals.push(Some(write_entry(&mut staging, Header::of_new(new), old.shift, write)?));
    }

    let directory_at = staging.position();
    let mut records = write_directory(&mut staging, source, centrals.into_iter().flatten(), old.shift)?;
    check_pairs(&mut records)?;
    write_end(&mut staging, records.len() as u64, directory_at, old.shift, &old.comment)?;
    staging.finish()?;
    let layout = Layout { prefix: old.layout.prefix, ..Layout::default() };
    Ok(Directory { records, layout, ..Directory::default() }.into_listing())
}

/// Both headers of old entries, each read through a window of its own since they lie far apart.
struct OldHeaders<'a, B: Bytes + ?Sized> {
    locals: Window<'a, B>,
    centrals: Window<'a, B>,
}

impl<B: Bytes + ?Sized> OldHeaders<'_, B> {
    /// The header for new contents under an old name.
    fn renewed(&mut self, record: &Record, with: &ReplacementEntry) -> Result<Header, Error> {
        let local = LocalHeader::read(&mut self.locals, record.entry.offset)?;
        let central = self.centrals.get(record.central_at, record.central_len)?;
        Ok(Header::renewed(central, local.extra, with))
    }
}

/// Writes an entry by `write` and makes its record for the directory. The record is read back by the same code that scans, so the
/// listing cannot say anything else than what was written.
fn write_entry<O: Output>(
    staging: &mut Staging<O>,
    mut header: Header,
    shift: u64,
    mut write: impl FnMut(&mut Header, &mut Staging<O>) -> Result<Measured, Error>,
) -> Result<Central, Error> {
    let offset = staging.position();
    let measured = write(&mut header, staging)?;
    let bytes = header.central(&measured, offset - shift)?;
    let mut record = read_record(&bytes, shift)?;
    record.entry.span = staging.position() - offset;
    Ok(Central::New { record, bytes })
}
