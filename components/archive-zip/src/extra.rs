//! Extra fields of a header: what they tell about sizes, names and times, and which may survive new contents.

use crate::ambiguity::Ambiguity;
use crate::contract::Error;
use crate::failure::{ambiguous, invalid};
use crate::fields::{IN_ZIP64, u16_at, u32_at, u64_at};
use crate::time;

const ZIP64: u16 = 0x0001;
const NTFS_TIMES: u16 = 0x000a;
const PKWARE_UNIX: u16 = 0x000d;
const STRONG_ENCRYPTION: u16 = 0x0017;
const UNIX_TIMES: u16 = 0x5455;
const OLD_UNIX: u16 = 0x5855;
const UNICODE_PATH: u16 = 0x7075;
const AES: u16 = 0x9901;
const ALIGNMENT: u16 = 0xd935;

/// What the extra fields of one header say.
#[derive(Default)]
pub struct Facts<'a> {
    /// The body of the first zip64 field.
    pub zip64: Option<&'a [u8]>,
    /// There is a second zip64 field and it says something else.
    pub zip64_differs: bool,
    /// The body of the first field with a Unicode name.
    pub unicode_path: Option<&'a [u8]>,
    /// There is a second one and it says something else.
    pub unicode_path_differs: bool,
    /// The time of the last change, if a field has it.
    pub modified: Option<i64>,
    /// A field that only encrypted entries have.
    pub encrypted: bool,
}

impl<'a> Facts<'a> {
    /// Reads the extra fields of a header.
    pub fn read(extra: &'a [u8]) -> Result<Self, Error> {
        let mut facts = Self::default();
        let (mut unix, mut ntfs, mut old) = (None, None, None);
        for field in fields(extra) {
            let (id, body) = field?;
            match id {
                ZIP64 => keep_first(&mut facts.zip64, body, &mut facts.zip64_differs),
                UNICODE_PATH => keep_first(&mut facts.unicode_path, body, &mut facts.unicode_path_differs),
                UNIX_TIMES if body.len() >= 5 && body[0] & 1 == 1 => unix = Some(i64::from(u32_at(body, 1) as i32)),
                OLD_UNIX if body.len() >= 8 => old = Some(i64::from(u32_at(body, 4) as i32)),
                NTFS_TIMES => ntfs = ntfs_modified(body),
                AES | STRONG_ENCRYPTION => facts.encrypted = true,
                _ => {}
            }
        }
        facts.modified = unix.or(ntfs).or(old);
        Ok(facts)
    }
}

fn keep_first<'a>(slot: &mut Option<&'a [u8]>, body: &'a [u8], differs: &mut bool) {
    match slot {
        Some(first) => *differs |= *first != body,
        None => *slot = Some(body),
    }
}

fn ntfs_modified(body: &[u8]) -> Option<i64> {
    let mut attributes = fields(body.get(4..)?).flatten();
    attributes.find(|(tag, value)| *tag == 1 && value.len() >= 8).map(|(_, value)| time::from_ntfs(u64_at(value, 0)))
}

/// The fields one by one. A tail too short to be a field is padding that some writers align contents with; a field that claims more
/// bytes than there are is an error.
fn fields(mut extra: &[u8]) -> impl Iterator<Item = Result<(u16, &[u8]), Error>> {
    std::iter::from_fn(move || {
        if extra.len() < 4 {
            return None;
        }
        let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
        let Some(body) = extra.get(4..4 + len) else {
            extra = &[];
            return Some(Err(invalid("an extra field is longer than the header that holds it")));
        };
        extra = &extra[4 + len..];
        Some(Ok((id, body)))
    })
}

/// The numbers of a header that may have moved into its zip64 field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    pub size: u64,
    pub compressed_size: u64,
    pub offset: u64,
    pub disk: u32,
}

impl Numbers {
    /// Replaces the numbers that say "look in zip64". `known` is how many of the four this kind of header has.
    ///
    /// A zip64 field holds only what was replaced, in order. Writers that put everything there are common, readers that take it
    /// by position too; so what is there beyond need must say the same by position, else two readers see two sizes.
    pub fn widen(self, zip64: Option<&[u8]>, known: usize) -> Result<Self, Error> {
        let Some(body) = zip64 else { return Ok(self) };
        let mut wide = self;
        let mut rest = body;
        let is_replaced = |number: u64| number == u64::from(IN_ZIP64);
        for (number, present) in [
            (&mut wide.size, is_replaced(self.size)),
            (&mut wide.compressed_size, is_replaced(self.compressed_size)),
            (&mut wide.offset, known > 2 && is_replaced(self.offset)),
        ] {
            if present {
                let (taken, left) = rest.split_at_checked(8).ok_or_else(too_short)?;
                *number = u64_at(taken, 0);
                rest = left;
            }
        }
        if known > 3 && self.disk == u32::from(u16::MAX) {
            let (taken, left) = rest.split_at_checked(4).ok_or_else(too_short)?;
            wide.disk = u32_at(taken, 0);
            rest = left;
        }
        if !rest.is_empty() && !wide.agrees_by_position(body, known) {
            return Err(ambiguous(Ambiguity::Size, "a zip64 field has numbers that contradict the header"));
        }
        Ok(wide)
    }

    fn agrees_by_position(&self, body: &[u8], known: usize) -> bool {
        let numbers = [self.size, self.compressed_size, self.offset];
        let wide_ok = numbers.iter().take(known).zip(body.chunks_exact(8)).all(|(&number, held)| u64_at(held, 0) == number);
        wide_ok && (known < 4 || body.len() < 28 || u32_at(body, 24) == self.disk)
    }
}

fn too_short() -> Error {
    ambiguous(Ambiguity::Size, "a zip64 field is too short for the numbers that the header refers to it")
}

/// The fields that stay true when an entry gets new contents, and whether one with a time was among those that do not. Sizes,
/// times and padding go; owners, Unicode names and what we do not know stay.
pub fn surviving(extra: &[u8]) -> (Vec<u8>, bool) {
    let mut kept = Vec::with_capacity(extra.len());
    let mut had_time = false;
    for (id, body) in fields(extra).flatten() {
        match id {
            ZIP64 | ALIGNMENT => {}
            UNIX_TIMES | NTFS_TIMES | OLD_UNIX | PKWARE_UNIX => had_time = true,
            _ => put(&mut kept, id, body),
        }
    }
    (kept, had_time)
}

/// A field with the time of the last change: the common one, or NTFS's where its 32 bits do not reach.
pub fn put_modified(extra: &mut Vec<u8>, seconds: i64) {
    match i32::try_from(seconds) {
        Ok(seconds) => {
            let mut body = vec![1];
            body.extend(seconds.to_le_bytes());
            put(extra, UNIX_TIMES, &body);
        }
        Err(_) => {
            let ticks = time::to_ntfs(seconds).to_le_bytes();
            let mut body = vec![0, 0, 0, 0, 1, 0, 24, 0];
            body.extend(ticks.iter().cycle().take(24));
            put(extra, NTFS_TIMES, &body);
        }
    }
}

/// A zip64 field with these numbers.
pub fn put_zip64(extra: &mut Vec<u8>, numbers: &[u64]) {
    let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    put(extra, ZIP64, &body);
}

/// The smallest field that is only there to take room.
pub const MIN_PADDING: usize = 6;

/// A field of `len` bytes in all, at least [`MIN_PADDING`], that means nothing: the one made for alignment, which asks for none.
pub fn put_padding(extra: &mut Vec<u8>, len: usize) {
    let mut body = vec![0; len - 4];
    body[0] = 1;
    put(extra, ALIGNMENT, &body);
}

/// The same fields, with these numbers as the zip64 field: in the place of an old one, or first.
pub fn with_zip64(extra: &[u8], numbers: &[u64]) -> Vec<u8> {
    let mut renewed = Vec::with_capacity(extra.len() + 28);
    if !has_zip64(extra) {
        put_zip64(&mut renewed, numbers);
    }
    let mut used = 0;
    for (id, body) in fields(extra).flatten() {
        used += 4 + body.len();
        match id {
            ZIP64 => put_zip64(&mut renewed, numbers),
            _ => put(&mut renewed, id, body),
        }
    }
    renewed.extend(&extra[used..]);
    renewed
}

/// Whether there is a zip64 field.
pub fn has_zip64(extra: &[u8]) -> bool {
    fields(extra).flatten().any(|(id, _)| id == ZIP64)
}

fn put(extra: &mut Vec<u8>, id: u16, body: &[u8]) {
    extra.extend(id.to_le_bytes());
    extra.extend((body.len() as u16).to_le_bytes());
    extra.extend(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Numbers = Numbers { size: 0xffff_ffff, compressed_size: 0xffff_ffff, offset: 0xffff_ffff, disk: 0 };

    fn body(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn replaced_numbers_are_taken_in_order() {
        let wide = ALL.widen(Some(&body(&[1, 2, 3])), 4).unwrap();
        assert_eq!(wide, Numbers { size: 1, compressed_size: 2, offset: 3, disk: 0 });
        let only_offset = Numbers { size: 5, compressed_size: 6, ..ALL };
        assert_eq!(only_offset.widen(Some(&body(&[9])), 4).unwrap().offset, 9);
        assert!(ALL.widen(Some(&body(&[1, 2])), 4).is_err());
    }

    #[test]
    fn spare_numbers_must_agree_with_the_header() {
        let plain = Numbers { size: 5, compressed_size: 6, offset: 7, disk: 0 };
        assert_eq!(plain.widen(Some(&body(&[5, 6, 7])), 4).unwrap(), plain);
        assert!(plain.widen(Some(&body(&[5, 8, 7])), 4).is_err());
        let only_offset = Numbers { offset: 0xffff_ffff, ..plain };
        assert!(only_offset.widen(Some(&body(&[5, 6, 7])), 4).is_err());
    }

    #[test]
    fn padding_is_no_field_but_an_overrun_is_an_error() {
        assert!(Facts::read(&[0, 0, 0]).is_ok());
        assert!(Facts::read(&[1, 0, 9, 0, 1]).is_err());
    }

    #[test]
    fn times_come_back_in_range_and_beyond() {
        for seconds in [0, -5, 1_700_000_000, i64::from(i32::MAX), i64::from(i32::MAX) + 1] {
            let mut extra = Vec::new();
            put_modified(&mut extra, seconds);
            assert_eq!(Facts::read(&extra).unwrap().modified, Some(seconds));
            assert_eq!(surviving(&extra), (vec![], true));
        }
    }
}
