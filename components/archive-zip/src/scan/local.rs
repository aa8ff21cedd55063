//! The walk over the entries themselves: every header must say what the directory says, and no two may share a byte.

use super::Record;
use super::gaps::hide_an_entry;
use crate::ambiguity::Ambiguity;
use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, Error};
use crate::extra::{Facts, Numbers};
use crate::failure::{ambiguous, invalid, quoted};
use crate::fields::{DESCRIPTOR_SIGNATURE, LOCAL_LEN, LOCAL_SIGNATURE, flag, method, u16_at, u32_at, u64_at};
use crate::names::read_name;
use crate::oddities::{Layout, Oddities};

/// Visits the entries in the order of the file, checks them against the directory and fills in their spans. Returns that order,
/// and what lies between entries.
pub fn walk<B: Bytes + ?Sized>(
    window: &mut Window<B>,
    records: &mut [Record],
    directory: u64,
) -> Result<(Vec<u32>, Layout), Error> {
    let mut order: Vec<u32> = (0..records.len() as u32).collect();
    order.sort_by_key(|&index| records[index as usize].entry.offset);

    let prefix = order.first().map_or(directory, |&first| records[first as usize].entry.offset);
    let mut layout = Layout { prefix, ..Layout::default() };
    if hide_an_entry(window, 0, layout.prefix)? {
        return Err(ambiguous(Ambiguity::Hidden, "there is an entry before the first one that the directory does not list"));
    }
    for (place, &index) in order.iter().enumerate() {
        let next = order.get(place + 1).map(|&next| records[next as usize].entry.offset);
        let record = &mut records[index as usize];
        let end = check_entry(window, record, next.unwrap_or(directory))
            .map_err(|why| invalid(format!("entry {} {why}", quoted(&record.entry.raw_name))))?;
        record.entry.span = end - record.entry.offset;
        let gap = next.unwrap_or(directory) - end;
        if gap == 0 {
            continue;
        }
        layout.gaps += gap;
        let hides = hide_an_entry(window, end, end + gap)?;
        if hides && next.is_some() {
            return Err(ambiguous(
                Ambiguity::Hidden,
                format!("there is an entry behind {} that the directory does not list", quoted(&record.entry.raw_name)),
            ));
        }
        // Programs that delete the last entry by writing a new directory leave it behind; all readers agree to ignore it.
        layout.unlisted |= hides;
    }
    Ok((order, layout))
}

/// A local header and how far it reaches.
pub struct LocalHeader<'a> {
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub compressed_size: u32,
    pub size: u32,
    pub name: &'a [u8],
    pub extra: &'a [u8],
}

impl<'a> LocalHeader<'a> {
    /// Reads the header at `offset`.
    pub fn read<B: Bytes + ?Sized>(window: &'a mut Window<B>, offset: u64) -> Result<Self, Error> {
        let head = window.get(offset, LOCAL_LEN)?;
        if !head.starts_with(&LOCAL_SIGNATURE) {
            return Err(invalid("has no header where the directory says it is"));
        }
        let (name_len, extra_len) = (usize::from(u16_at(head, 26)), usize::from(u16_at(head, 28)));
        let header = window.get(offset, LOCAL_LEN + name_len + extra_len)?;
        let (name, extra) = header[LOCAL_LEN..].split_at(name_len);
        Ok(Self {
            flags: u16_at(header, 6),
            method: u16_at(header, 8),
            crc32: u32_at(header, 14),
            compressed_size: u32_at(header, 18),
            size: u32_at(header, 22),
            name,
            extra,
        })
    }

    /// How far behind the beginning of the header the contents start.
    pub fn contents_at(&self) -> u64 {
        (LOCAL_LEN + self.name.len() + self.extra.len()) as u64
    }
}

/// Checks one entry that has to end at `limit` or before, and returns where it ends. The error says what is wrong with the entry.
fn check_entry<B: Bytes + ?Sized>(window: &mut Window<B>, record: &mut Record, limit: u64) -> Result<u64, String> {
    let entry = &record.entry;
    let local = LocalHeader::read(window, entry.offset).map_err(|error| error.message)?;
    let facts = Facts::read(local.extra).map_err(|error| format!("cannot be read: {}", error.message))?;
    check_identity(&local, record, &facts)?;
    let has_descriptor = local.flags & flag::DESCRIPTOR != 0;
    check_numbers(&local, entry, &facts, has_descriptor)?;
    let has_second_zip64 = facts.zip64_differs;

    let data_end = (entry.offset.checked_add(local.contents_at()))
        .and_then(|start| start.checked_add(entry.compressed_size))
        .filter(|&end| end <= limit)
        .ok_or("overlaps with what comes behind it")?;
    if has_second_zip64 {
        record.oddities.add(Oddities::SECOND_ZIP64);
    }
    if !has_descriptor {
        return Ok(data_end);
    }
    let room = limit - data_end;
    let tail = window.get(data_end, room.min(24) as usize).map_err(|error| error.message)?;
    match read_descriptor(tail, &record.entry, room) {
        Some(Descriptor::Agrees(len)) => Ok(data_end + len),
        Some(Descriptor::Differs(len)) => {
            record.oddities.add(Oddities::DESCRIPTOR);
            Ok(data_end + len)
        }
        None => Err(Ambiguity::Size.says("has other sizes or another checksum behind its contents than in the directory")),
    }
}

fn check_identity(local: &LocalHeader, record: &Record, facts: &Facts) -> Result<(), String> {
    let entry = &record.entry;
    if local.name != entry.raw_name {
        return Err(Ambiguity::Name.says(format!("has another name at its contents: {}", quoted(local.name))));
    }
    if local.method != entry.method {
        return Err(Ambiguity::Method.says("has another compression method at its contents than in the directory"));
    }
    let encrypted = flag::ENCRYPTED | flag::STRONG_ENCRYPTION | flag::MASKED_HEADERS;
    if local.flags & encrypted != 0 || facts.encrypted {
        return Err(Ambiguity::Encryption.says("is encrypted at its contents and not in the directory"));
    }
    let differs = local.flags ^ record.flags;
    if differs & flag::UTF8 != 0 && !local.name.is_ascii() {
        return Err(Ambiguity::Name.says("is UTF-8 by one of its flags and not by the other"));
    }
    let is_lzma = entry.method == method::LZMA;
    if differs & flag::PATCH != 0 || (is_lzma && differs & flag::LZMA_END_MARK != 0) {
        return Err(Ambiguity::Method.says("has other flags at its contents than in the directory"));
    }
    if facts.unicode_path.is_some() {
        let name = read_name(local.name, local.flags & flag::UTF8 != 0, facts)
            .map_err(|error| format!("cannot be read: {}", error.message))?;
        if name.path != entry.path && !name.oddities.has(Oddities::STALE_UNICODE_NAME) {
            return Err(Ambiguity::Name.says(format!("has another Unicode name at its contents: {}", quoted(name.path.as_bytes()))));
        }
    }
    Ok(())
}

/// Checksum and sizes. With a descriptor to come, the header may leave each of them at zero.
fn check_numbers(local: &LocalHeader, entry: &Entry, facts: &Facts, has_descriptor: bool) -> Result<(), String> {
    let plain = Numbers { size: u64::from(local.size), compressed_size: u64::from(local.compressed_size), offset: 0, disk: 0 };
    let numbers = plain.widen(facts.zip64, 2).map_err(|error| format!("cannot be read: {}", error.message))?;
    let agrees = |here: u64, listed: u64| here == listed || (has_descriptor && here == 0);
    let sizes_agree = agrees(numbers.size, entry.size) && agrees(numbers.compressed_size, entry.compressed_size);
    if !sizes_agree || !agrees(u64::from(local.crc32), u64::from(entry.crc32)) {
        return Err(Ambiguity::Size.says("has other sizes or another checksum at its contents than in the directory"));
    }
    Ok(())
}

enum Descriptor {
    Agrees(u64),
    Differs(u64),
}

/// The descriptor behind an entry's contents, which has four forms: with a signature or not, with 32-bit or 64-bit sizes. If two
/// fit, the one that fills the `room` up to the next entry is meant.
fn read_descriptor(tail: &[u8], entry: &Entry, room: u64) -> Option<Descriptor> {
    let has_signature = tail.starts_with(&DESCRIPTOR_SIGNATURE);
    let fits = |(skip, wide): (usize, bool)| {
        let len = skip + if wide { 20 } else { 12 };
        let body = tail.get(skip..len)?;
        let (compressed_size, size) =
            if wide { (u64_at(body, 4), u64_at(body, 12)) } else { (u64::from(u32_at(body, 4)), u64::from(u32_at(body, 8))) };
        let agrees = u32_at(body, 0) == entry.crc32 && compressed_size == entry.compressed_size && size == entry.size;
        agrees.then_some(len as u64)
    };
    let forms = [(4, false), (4, true), (0, false), (0, true)];
    let mut fitting = forms.into_iter().filter(|&(skip, _)| skip == 0 || has_signature).filter_map(fits);
    let first = fitting.clone().next();
    if let Some(len) = fitting.find(|&len| len == room).or(first) {
        return Some(Descriptor::Agrees(len));
    }
    // No reader that has a directory looks here for sizes. If it is surely a descriptor, of this entry, and hides nothing, it may lie.
    let is_surely_one = has_signature && matches!(room, 16 | 24) && u32_at(tail, 4) == entry.crc32;
    is_surely_one.then_some(Descriptor::Differs(room))
}
