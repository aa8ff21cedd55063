//! The directory of the new archive and its end records.

use std::borrow::Cow;

use super::Output;
use super::old::Old;
use super::staging::Staging;
use crate::contract::{Entry, Error};
use crate::extra::{has_zip64, with_zip64};
use crate::failure::{internal, unwritable};
use crate::fields::{CENTRAL_LEN, END_SIGNATURE, END64_LEN, END64_SIGNATURE, IN_ZIP64, LOCATOR_SIGNATURE, u16_at, u32_at};
use crate::scan::read_record;

/// An entry of the new archive.
pub enum Central {
    /// Its record is the old one with this number, with another offset.
    Kept { index: usize, offset: u64 },
    /// Its record was made new.
    New(Vec<u8>),
}

/// Writes the directory. Old records are read again rather than kept: they can be long, and there may be very many.
pub fn write_directory<'a, O: Output>(
    staging: &mut Staging<'a, O>,
    mut old: Option<&mut Old<'a, O::Source>>,
    centrals: impl Iterator<Item = Central>,
) -> Result<(), Error> {
    for central in centrals {
        match (central, &mut old) {
            (Central::New(bytes), _) => staging.write(&bytes)?,
            (Central::Kept { index, offset }, Some(old)) => {
                let shift = old.shift;
                staging.write(&moved(old.record_bytes(index)?, offset - shift)?)?;
            }
            (Central::Kept { .. }, None) => return Err(internal("an entry is kept and there is no source")),
        }
    }
    Ok(())
}

/// A record with another offset. All other bytes stay, unless the offset has to move into or out of a zip64 field.
fn moved(record: &[u8], offset: u64) -> Result<Cow<'_, [u8]>, Error> {
    const OFFSET: usize = 42;
    let extra_at = CENTRAL_LEN + usize::from(u16_at(record, 28));
    let comment_at = extra_at + usize::from(u16_at(record, 30));
    let extra = &record[extra_at..comment_at];
    if !has_zip64(extra) {
        if u64::from(u32_at(record, OFFSET)) == offset {
            return Ok(record.into());
        }
        if offset < u64::from(IN_ZIP64) {
            let mut record = record.to_vec();
            record[OFFSET..OFFSET + 4].copy_from_slice(&(offset as u32).to_le_bytes());
            return Ok(record.into());
        }
    }
    // The field holds what the header refers to it, no more: spare numbers would have to be kept right as well.
    let is_replaced = |at: usize| u32_at(record, at) == IN_ZIP64;
    let offset_is_wide = offset >= u64::from(IN_ZIP64) || (has_zip64(extra) && is_replaced(OFFSET));
    let Entry { size, compressed_size, .. } = read_record(record, 0)?.entry;
    let numbers = [
        (size, has_zip64(extra) && is_replaced(24)),
        (compressed_size, has_zip64(extra) && is_replaced(20)),
        (offset, offset_is_wide),
    ];
    let wide: Vec<u64> = numbers.into_iter().filter(|&(_, is_wide)| is_wide).map(|(number, _)| number).collect();
    let extra = with_zip64(extra, &wide);
    let extra_len =
        u16::try_from(extra.len()).map_err(|_| unwritable("an entry has too many extra fields to be moved beyond 4 GiB"))?;
    let mut moved = record[..extra_at].to_vec();
    moved[30..32].copy_from_slice(&extra_len.to_le_bytes());
    moved[34..36].copy_from_slice(&[0, 0]);
    let narrow = if offset_is_wide { IN_ZIP64 } else { offset as u32 };
    moved[OFFSET..OFFSET + 4].copy_from_slice(&narrow.to_le_bytes());
    moved.extend(extra);
    moved.extend(&record[comment_at..]);
    Ok(moved.into())
}

/// Writes the end record, with a zip64 one before it where the numbers ask for it.
pub fn write_end<O: Output>(
    staging: &mut Staging<O>,
    count: u64,
    directory_at: u64,
    shift: u64,
    comment: &[u8],
) -> Result<(), Error> {
    let end_at = staging.position();
    let (offset, len) = (directory_at - shift, end_at - directory_at);
    let mut end = Vec::new();
    if count >= u64::from(u16::MAX) || offset >= u64::from(IN_ZIP64) || len >= u64::from(IN_ZIP64) {
        end.extend(END64_SIGNATURE);
        end.extend((END64_LEN as u64 - 12).to_le_bytes());
        end.extend([45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [count, count, len, offset] {
            end.extend(number.to_le_bytes());
        }
        end.extend(LOCATOR_SIGNATURE);
        end.extend([0; 4]);
        end.extend((end_at - shift).to_le_bytes());
        end.extend(1u32.to_le_bytes());
    }
    let short_count = u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    end.extend(END_SIGNATURE);
    end.extend([0; 4]);
    end.extend(short_count);
    end.extend(short_count);
    end.extend(u32::try_from(len).unwrap_or(IN_ZIP64).to_le_bytes());
    end.extend(u32::try_from(offset).unwrap_or(IN_ZIP64).to_le_bytes());
    end.extend((comment.len() as u16).to_le_bytes());
    end.extend(comment);
    staging.write(&end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a stored entry `a` of 7 bytes, with an unknown extra field, padding and a comment.
    fn record() -> Vec<u8> {
        let mut record = b"PK\x01\x02\x14\x03\x14\0".to_vec();
        record.resize(CENTRAL_LEN, 0);
        (record[20], record[24], record[28], record[30], record[32]) = (7, 7, 1, 8, 4);
        record.extend(b"a\xaa\xbb\x01\0!\0\0\0note");
        record
    }

    #[test]
    fn a_record_moves_into_zip64_and_back_and_keeps_the_rest() {
        let far = 5 << 30;
        let away = moved(&record(), far).unwrap().into_owned();
        assert_eq!(read_record(&away, 0).unwrap().entry.offset, far);
        assert!(away.ends_with(b"\xaa\xbb\x01\0!\0\0\0note"));
        let back = moved(&away, 9).unwrap().into_owned();
        assert_eq!(read_record(&back, 0).unwrap().entry.offset, 9);
        assert_eq!(read_record(&back, 0).unwrap().entry.size, 7);
    }

    #[test]
    fn a_record_that_stays_in_reach_changes_four_bytes_or_none() {
        assert_eq!(*moved(&record(), 0).unwrap(), record());
        let near = moved(&record(), 0x0102_0304).unwrap().into_owned();
        assert_eq!(near.iter().zip(record()).filter(|(new, old)| **new != *old).count(), 4);
    }
}
