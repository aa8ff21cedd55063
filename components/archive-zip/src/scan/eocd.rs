//! The end of an archive: the one record that says where the directory is, and its zip64 companion.

use super::Record;
use crate::ambiguity::Ambiguity;
use crate::bytes::{Bytes, Window};
use crate::contract::Error;
use crate::failure::{ambiguous, invalid};
use crate::fields::{
    CENTRAL_LEN, CENTRAL_SIGNATURE, DIGITAL_SIGNATURE, END_LEN, END_SIGNATURE, END64_LEN, END64_SIGNATURE, IN_ZIP64, LOCATOR_LEN,
    LOCATOR_SIGNATURE, u16_at, u32_at, u64_at,
};

/// Where the directory is and how much is in it.
pub struct End {
    pub count: u64,
    /// Its first byte in the file.
    pub directory: u64,
    pub directory_len: u64,
    /// What has to be added to the offsets in the archive.
    pub shift: u64,
    pub comment: Vec<u8>,
    /// Other places that look like the end of an archive. Inside an entry they are a nested archive; elsewhere they are a trap.
    pub rivals: Vec<u64>,
    /// There are bytes between the zip64 end record and its locator.
    pub has_gap: bool,
}

/// Finds the end record: the only one whose comment reaches exactly to the end of the file.
pub fn find<B: Bytes + ?Sized>(window: &mut Window<B>) -> Result<End, Error> {
    let size = window.size();
    let tail_len = size.min((END_LEN + usize::from(u16::MAX)) as u64) as usize;
    let tail_at = size - tail_len as u64;
    let tail = window.get(tail_at, tail_len)?.to_vec();

    let signatures: Vec<usize> =
        (0..(tail_len + 1).saturating_sub(END_LEN)).filter(|&at| tail[at..].starts_with(&END_SIGNATURE)).collect();
    let reaches_end = |at: &usize| at + END_LEN + usize::from(u16_at(&tail, at + 20)) == tail_len;
    let mut fitting = signatures.iter().copied().filter(reaches_end);
    let at = match (fitting.next(), fitting.next()) {
        (Some(at), None) => at,
        (Some(_), Some(_)) => {
            return Err(ambiguous(
                Ambiguity::End,
                "two end records reach the end of the file, so it could be two different archives",
            ));
        }
        (None, _) if signatures.is_empty() => return Err(invalid("no end record: this is not a zip archive, or it is cut off")),
        (None, _) => {
            return Err(ambiguous(
                Ambiguity::End,
                "the archive's comment does not end where the file ends: bytes are missing or were added",
            ));
        }
    };
    // Readers that take the last signature without looking at the comment's length would see the archive in the comment.
    if signatures.last().is_some_and(|&last| last > at) {
        return Err(ambiguous(
            Ambiguity::End,
            "the archive's comment contains an end record, so the file could be two different archives",
        ));
    }
    let rivals = signatures.iter().filter(|&&rival| rival < at && is_plausible(&tail[rival..], tail_at + rival as u64));

    let record = &tail[at..];
    let plain = Ends::plain(record);
    let end_at = tail_at + at as u64;
    let (ends, limit, zip64_shift, has_gap) = match locator(window, end_at)? {
        None => (plain, end_at, None, false),
        Some(locator_offset) => {
            let found = find_zip64(window, end_at - LOCATOR_LEN as u64, locator_offset)?;
            plain.check_against(&found.ends)?;
            (found.ends, found.at, Some(found.shift), found.has_gap)
        }
    };
    if ends.disk != 0 || ends.directory_disk != 0 || ends.count_here != ends.count {
        return Err(invalid("the archive is one part of several, which is not supported"));
    }
    let (directory, shift) = locate(window, &ends, limit)?;
    if zip64_shift.is_some_and(|zip64_shift| zip64_shift != shift) {
        return Err(ambiguous(
            Ambiguity::Zip64End,
            "the zip64 end record and the directory are not where the archive says they are",
        ));
    }
    Ok(End {
        count: ends.count,
        directory,
        directory_len: ends.directory_len,
        shift,
        comment: record[END_LEN..].to_vec(),
        rivals: rivals.map(|&rival| tail_at + rival as u64).collect(),
        has_gap,
    })
}

/// Refuses a second end record that is not the contents of an entry.
pub fn check_rivals(rivals: &[u64], records: &[Record], order: &[u32]) -> Result<(), Error> {
    for &rival in rivals {
        let after = order.partition_point(|&index| records[index as usize].entry.offset <= rival);
        let is_inside = after.checked_sub(1).is_some_and(|before| {
            let entry = &records[order[before] as usize].entry;
            rival + END_LEN as u64 <= entry.offset + entry.span
        });
        if !is_inside {
            return Err(ambiguous(
                Ambiguity::End,
                format!("there is a second end record at byte {rival}, so the file could be two different archives"),
            ));
        }
    }
    Ok(())
}

/// What both kinds of end record say.
struct Ends {
    disk: u32,
    directory_disk: u32,
    count_here: u64,
    count: u64,
    directory_len: u64,
    directory_at: u64,
}

impl Ends {
    fn plain(record: &[u8]) -> Self {
        Self {
            disk: u32::from(u16_at(record, 4)),
            directory_disk: u32::from(u16_at(record, 6)),
            count_here: u64::from(u16_at(record, 8)),
            count: u64::from(u16_at(record, 10)),
            directory_len: u64::from(u32_at(record, 12)),
            directory_at: u64::from(u32_at(record, 16)),
        }
    }

    fn zip64(record: &[u8]) -> Self {
        Self {
            disk: u32_at(record, 16),
            directory_disk: u32_at(record, 20),
            count_here: u64_at(record, 24),
            count: u64_at(record, 32),
            directory_len: u64_at(record, 40),
            directory_at: u64_at(record, 48),
        }
    }

    /// Each number of the plain record must be the zip64 one, or say that it is there.
    fn check_against(&self, wide: &Ends) -> Result<(), Error> {
        let (short, long) = (u64::from(u16::MAX), u64::from(IN_ZIP64));
        let agrees = [
            (u64::from(self.disk), u64::from(wide.disk), short),
            (u64::from(self.directory_disk), u64::from(wide.directory_disk), short),
            (self.count_here, wide.count_here, short),
            (self.count, wide.count, short),
            (self.directory_len, wide.directory_len, long),
            (self.directory_at, wide.directory_at, long),
        ]
        .iter()
        .all(|&(plain, wide, deferred)| plain == wide || plain == deferred);
        if agrees {
            Ok(())
        } else {
            Err(ambiguous(Ambiguity::Zip64End, "the end record and the zip64 end record contradict each other"))
        }
    }
}

fn is_plausible(record: &[u8], at: u64) -> bool {
    let ends = Ends::plain(record);
    ends.disk == 0 && ends.directory_disk == 0 && ends.count_here == ends.count && ends.directory_at + ends.directory_len <= at
}

/// The offset that the zip64 locator before the end record gives, if there is a locator.
fn locator<B: Bytes + ?Sized>(window: &mut Window<B>, end_at: u64) -> Result<Option<u64>, Error> {
    let Some(at) = end_at.checked_sub(LOCATOR_LEN as u64) else { return Ok(None) };
    let record = window.get(at, LOCATOR_LEN)?;
    if !record.starts_with(&LOCATOR_SIGNATURE) {
        return Ok(None);
    }
    if u32_at(record, 4) != 0 || u32_at(record, 16) > 1 {
        return Err(invalid("the archive is one part of several, which is not supported"));
    }
    Ok(Some(u64_at(record, 8)))
}

struct Zip64End {
    ends: Ends,
    at: u64,
    shift: u64,
    has_gap: bool,
}

/// The zip64 end record: where the locator says, or right before the locator if something was put in front of the archive. Readers
/// differ in where they look first, so if both places hold one they must be the same.
fn find_zip64<B: Bytes + ?Sized>(window: &mut Window<B>, locator_at: u64, declared: u64) -> Result<Zip64End, Error> {
    let mut read = |at: u64| -> Option<[u8; END64_LEN]> {
        let record = window.get(at, END64_LEN).ok()?;
        record.starts_with(&END64_SIGNATURE).then(|| record.try_into().ok())?
    };
    let fits = |at: u64| at.checked_add(END64_LEN as u64).is_some_and(|end| end <= locator_at);
    let adjacent_at = locator_at.checked_sub(END64_LEN as u64);
    let adjacent = adjacent_at.and_then(&mut read);
    let (at, record) = match (read(declared).filter(|_| fits(declared)), adjacent_at.zip(adjacent)) {
        (Some(there), Some((_, adjacent))) if there != adjacent => {
            return Err(ambiguous(Ambiguity::Zip64End, "there are two different zip64 end records"));
        }
        (Some(there), _) => (declared, there),
        (None, Some((at, adjacent))) if at > declared => (at, adjacent),
        _ => return Err(ambiguous(Ambiguity::Zip64End, "the zip64 end record is not where the archive says it is")),
    };
    // Its own length may be too small without harm; more would be a second version of the record that few readers know.
    if u64_at(&record, 4) > (END64_LEN - 12) as u64 {
        return Err(ambiguous(Ambiguity::Zip64End, "the zip64 end record is of an unknown kind"));
    }
    Ok(Zip64End { ends: Ends::zip64(&record), at, shift: at - declared, has_gap: at + (END64_LEN as u64) < locator_at })
}

/// The directory's place and what has to be added to offsets. It is where the end record says, or right before the end record if
/// something was put in front of the archive; where the signature is decides, and both is an error.
fn locate<B: Bytes + ?Sized>(window: &mut Window<B>, ends: &Ends, limit: u64) -> Result<(u64, u64), Error> {
    let too_far = || ambiguous(Ambiguity::Place, "the directory does not fit into the file before the end record");
    let declared = ends.directory_at;
    let adjacent = limit.checked_sub(ends.directory_len).ok_or_else(too_far)?;
    if ends.count.checked_mul(CENTRAL_LEN as u64).is_none_or(|least| least > ends.directory_len) {
        return Err(ambiguous(Ambiguity::Count, "the directory is too short for the number of entries"));
    }
    if declared > adjacent {
        return Err(too_far());
    }
    if ends.count == 0 && ends.directory_len > 0 {
        return Err(ambiguous(Ambiguity::Count, "the directory is not empty although the archive has no entries"));
    }
    if declared == adjacent || ends.count == 0 {
        return Ok((adjacent, adjacent - declared));
    }
    let mut is_directory = |at: u64| window.get(at, CENTRAL_LEN).is_ok_and(|record| record.starts_with(&CENTRAL_SIGNATURE));
    match (is_directory(declared), is_directory(adjacent)) {
        (true, true) => Err(ambiguous(Ambiguity::Place, "there are two directories, so the file could be two different archives")),
        (false, true) => Ok((adjacent, adjacent - declared)),
        (true, false) if is_signature(window, declared + ends.directory_len, limit) => Ok((declared, 0)),
        (true, false) => Err(ambiguous(Ambiguity::Place, "there are bytes between the directory and the end record")),
        (false, false) => Err(ambiguous(Ambiguity::Place, "there is no directory where the end record says it is")),
    }
}

/// Whether a signature over the directory fills the space from `from` to `to`.
fn is_signature<B: Bytes + ?Sized>(window: &mut Window<B>, from: u64, to: u64) -> bool {
    window.get(from, 6).is_ok_and(|head| head.starts_with(&DIGITAL_SIGNATURE) && from + 6 + u64::from(u16_at(head, 4)) == to)
}
