//! The records of the directory, one by one, until exactly all of it is used.

use super::Record;
use super::eocd::End;
use super::kind::judge_kind;
use crate::ambiguity::Ambiguity;
use crate::bytes::{Bytes, Window};
use crate::contract::{Entry, EntryKind, Error};
use crate::extra::{Facts, Numbers};
use crate::failure::{ambiguous, invalid, quoted, unsupported};
use crate::fields::{CENTRAL_LEN, CENTRAL_SIGNATURE, flag, method, u16_at, u32_at};
use crate::names::read_name;
use crate::time::from_dos;

const REWRITE: &str = "Extract it with another program and pack it again, stored or deflated.";

/// Reads all records. Places in the file of the entries are set, their spans are not yet known.
pub fn read_all<B: Bytes + ?Sized>(window: &mut Window<B>, end: &End) -> Result<Vec<Record>, Error> {
    // The count is bounded by the directory's size, which is bounded by the file's; still it is an attacker's number.
    let mut records = Vec::with_capacity(end.count.min(1 << 16) as usize);
    let (mut at, stop) = (end.directory, end.directory + end.directory_len);
    for number in 1..=end.count {
        let (len, _) = measure_record(window, at, stop).map_err(|_| {
            ambiguous(
                Ambiguity::Count,
                format!("the directory ends or turns into something else at entry {number} of {}", end.count),
            )
        })?;
        let mut record = read_record(window.get(at, len)?, end.shift)?;
        if record.entry.offset >= end.directory {
            return Err(invalid(format!("entry {} lies behind the directory", quoted(&record.entry.raw_name))));
        }
        record.central_at = at;
        records.push(record);
        at += len as u64;
    }
    if at != stop {
        return Err(ambiguous(
            Ambiguity::Count,
            "the directory is larger than its entries, so their number can be read in two ways",
        ));
    }
    Ok(records)
}

/// How long the record at `at` is, and the offset in it.
pub fn measure_record<B: Bytes + ?Sized>(window: &mut Window<B>, at: u64, stop: u64) -> Result<(usize, u32), Error> {
    let head = window.get(at, CENTRAL_LEN)?;
    let len = CENTRAL_LEN + usize::from(u16_at(head, 28)) + usize::from(u16_at(head, 30)) + usize::from(u16_at(head, 32));
    let is_record = head.starts_with(&CENTRAL_SIGNATURE) && at + len as u64 <= stop;
    if is_record { Ok((len, u32_at(head, 42))) } else { Err(invalid("the directory has no record where one should be")) }
}

/// Reads one record, which is complete. `shift` is added to its offset.
pub fn read_record(record: &[u8], shift: u64) -> Result<Record, Error> {
    let name_len = usize::from(u16_at(record, 28));
    let extra_end = CENTRAL_LEN + name_len + usize::from(u16_at(record, 30));
    let raw_name = &record[CENTRAL_LEN..CENTRAL_LEN + name_len];
    let said = |what: &str| invalid(format!("entry {} {what}", quoted(raw_name)));

    let facts = Facts::read(&record[CENTRAL_LEN + name_len..extra_end])
        .map_err(|error| said(&format!("cannot be read: {}", error.message)))?;
    let (flags, method) = (u16_at(record, 8), u16_at(record, 10));
    check_readable(flags, method, &facts).map_err(|(why, next)| unsupported(format!("entry {} {why}", quoted(raw_name)), next))?;
    if facts.zip64_differs {
        return Err(said(&Ambiguity::Size.says("has two different zip64 fields, so its size can be read in two ways")));
    }
    let numbers = Numbers {
        compressed_size: u64::from(u32_at(record, 20)),
        size: u64::from(u32_at(record, 24)),
        disk: u32::from(u16_at(record, 34)),
        offset: u64::from(u32_at(record, 42)),
    };
    let numbers = numbers.widen(facts.zip64, 4).map_err(|error| said(&format!("cannot be read: {}", error.message)))?;
    if numbers.disk != 0 {
        return Err(said("is on another part of an archive in several parts, which is not supported"));
    }
    if method == method::STORED && numbers.size != numbers.compressed_size {
        return Err(said(&Ambiguity::Size.says("is stored without compression and yet has two sizes")));
    }

    let name = read_name(raw_name, flags & flag::UTF8 != 0, &facts)?;
    let (kind, mode) = judge_kind(u16_at(record, 4), u32_at(record, 38), name.is_directory).map_err(|why| said(&why))?;
    if kind == EntryKind::Directory && numbers.size != 0 {
        return Err(said(&Ambiguity::Kind.says("is a directory and yet has contents")));
    }
    let entry = Entry {
        path: name.path,
        raw_name: raw_name.to_vec(),
        kind,
        size: numbers.size,
        compressed_size: numbers.compressed_size,
        crc32: u32_at(record, 16),
        method,
        mode,
        modified: facts.modified.or_else(|| from_dos(u16_at(record, 14), u16_at(record, 12))),
        offset: numbers.offset.checked_add(shift).ok_or_else(|| said("lies behind the end of the file"))?,
        span: 0,
    };
    Ok(Record { entry, flags, oddities: name.oddities, central_at: 0, central_len: record.len() })
}

/// The error says what the entry needs and what its owner can do about it.
fn check_readable(flags: u16, method: u16, facts: &Facts) -> Result<(), (String, &'static str)> {
    let encrypted = flag::ENCRYPTED | flag::STRONG_ENCRYPTION | flag::MASKED_HEADERS;
    if flags & encrypted != 0 || method == method::AES || facts.encrypted {
        let next = "Decrypt the archive with another program first, and open the result.";
        return Err(("is encrypted, which is not supported".into(), next));
    }
    if flags & flag::PATCH != 0 {
        return Err(("is a patch for another file, which is not supported".into(), REWRITE));
    }
    if !method::is_readable(method) {
        return Err((format!("is compressed with method {method}, which is not supported"), REWRITE));
    }
    Ok(())
}
