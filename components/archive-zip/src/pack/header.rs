//! Headers of entries that are written new, in their two forms: before the contents and in the directory.

use super::plan::raw_name;
use crate::contract::{EntryKind, Error, NewEntry, Prepared, ReplacementEntry};
use crate::extra::{put_modified, put_padding, put_zip64, surviving};
use crate::failure::unwritable;
use crate::fields::{CENTRAL_LEN, CENTRAL_SIGNATURE, IN_ZIP64, LOCAL_SIGNATURE, flag, method, u16_at, u32_at};
use crate::scan::kind::{DIRECTORY, DOS_DIRECTORY, LINK, REGULAR, has_unix_mode};
use crate::time::to_dos;

/// Made by Unix, with version 2.0 of the format.
const MADE_BY_UNIX: u16 = 3 << 8 | 20;
/// The version that zip64 needs.
const ZIP64_VERSION: u16 = 45;
/// What a zip64 field takes in a header before contents.
const ZIP64_FIELD: usize = 20;

pub struct Header {
    flags: u16,
    name: Vec<u8>,
    made_by: u16,
    modified: i64,
    internal: u16,
    external: u32,
    local_extra: Vec<u8>,
    central_extra: Vec<u8>,
    comment: Vec<u8>,
}

impl Header {
    /// The header of an entry that the archive did not have.
    pub fn of_new(new: &NewEntry) -> Self {
        let name = raw_name(new);
        let mut extra = Vec::new();
        put_modified(&mut extra, new.modified);
        let permissions = new.mode & 0o7777;
        Self {
            flags: if name.is_ascii() { 0 } else { flag::UTF8 },
            name,
            made_by: MADE_BY_UNIX,
            modified: new.modified,
            internal: 0,
            external: match new.kind {
                EntryKind::Directory => (DIRECTORY | permissions) << 16 | DOS_DIRECTORY,
                EntryKind::Symlink => (LINK | 0o777) << 16,
                EntryKind::File => (REGULAR | permissions) << 16,
            },
            local_extra: extra.clone(),
            central_extra: extra,
            comment: Vec::new(),
        }
    }

    /// The header for new contents of an entry, whose old record in the directory is `central`.
    ///
    /// A field with a time is only there again if there was one: the first entry of an EPUB must not have any. An entry that was
    /// not made by Unix stays so and keeps its attributes, since who made it decides in which alphabet its name is read.
    pub fn renewed(central: &[u8], local_extra: &[u8], with: &ReplacementEntry) -> Self {
        let (name_len, extra_len) = (usize::from(u16_at(central, 28)), usize::from(u16_at(central, 30)));
        let (name, rest) = central[CENTRAL_LEN..].split_at(name_len);
        let (extra, comment) = rest.split_at(extra_len);
        let (mut central_extra, central_time) = surviving(extra);
        let (mut local_extra, local_time) = surviving(local_extra);
        if central_time || local_time {
            put_modified(&mut central_extra, with.modified);
            put_modified(&mut local_extra, with.modified);
        }
        let (made_by, attributes) = (u16_at(central, 4), u32_at(central, 38));
        let external = if has_unix_mode(made_by) { (REGULAR | with.mode & 0o7777) << 16 | attributes & 0xffff } else { attributes };
        Self {
            flags: u16_at(central, 8) & flag::UTF8,
            name: name.to_vec(),
            made_by,
            modified: with.modified,
            internal: u16_at(central, 36),
            external,
            local_extra,
            central_extra,
            comment: comment.to_vec(),
        }
    }

    /// The header before the contents.
    pub fn local(&self, contents: &Prepared) -> Result<Vec<u8>, Error> {
        let is_wide = contents.size.max(contents.compressed_size) >= u64::from(IN_ZIP64);
        let mut extra = Vec::new();
        if is_wide {
            put_zip64(&mut extra, &[contents.size, contents.compressed_size]);
        }
        extra.extend(&self.local_extra);
        let mut bytes = LOCAL_SIGNATURE.to_vec();
        put16(&mut bytes, version_needed(is_wide, contents.method));
        self.put_common(&mut bytes, contents);
        put32(&mut bytes, if is_wide { IN_ZIP64 } else { contents.compressed_size as u32 });
        put32(&mut bytes, if is_wide { IN_ZIP64 } else { contents.size as u32 });
        put_len(&mut bytes, &self.name)?;
        put_len(&mut bytes, &extra)?;
        bytes.extend(&self.name);
        bytes.extend(&extra);
        Ok(bytes)
    }

    /// The record in the directory. `offset` is as the archive counts.
    pub fn central(&self, contents: &Prepared, offset: u64) -> Result<Vec<u8>, Error> {
        let numbers = [contents.size, contents.compressed_size, offset];
        let wide: Vec<u64> = numbers.into_iter().filter(|&number| number >= u64::from(IN_ZIP64)).collect();
        let narrow = |number: u64| u32::try_from(number).unwrap_or(IN_ZIP64);
        let mut extra = Vec::new();
        if !wide.is_empty() {
            put_zip64(&mut extra, &wide);
        }
        extra.extend(&self.central_extra);
        let mut bytes = CENTRAL_SIGNATURE.to_vec();
        put16(&mut bytes, self.made_by);
        put16(&mut bytes, version_needed(!wide.is_empty(), contents.method));
        self.put_common(&mut bytes, contents);
        put32(&mut bytes, narrow(contents.compressed_size));
        put32(&mut bytes, narrow(contents.size));
        put_len(&mut bytes, &self.name)?;
        put_len(&mut bytes, &extra)?;
        put_len(&mut bytes, &self.comment)?;
        put16(&mut bytes, 0);
        put16(&mut bytes, self.internal);
        put32(&mut bytes, self.external);
        put32(&mut bytes, narrow(offset));
        bytes.extend(&self.name);
        bytes.extend(&extra);
        bytes.extend(&self.comment);
        Ok(bytes)
    }

    pub fn is_named(&self, name: &[u8]) -> bool {
        self.name == name
    }

    /// Puts room behind the other fields, so that contents begin or end at a certain place. The room is part of the header: every
    /// reader skips it. Returns whether it fits.
    pub fn pad(&mut self, len: usize) -> bool {
        let fits = self.local_extra.len() + len + ZIP64_FIELD <= usize::from(u16::MAX);
        if fits {
            put_padding(&mut self.local_extra, len);
        }
        fits
    }

    fn put_common(&self, bytes: &mut Vec<u8>, contents: &Prepared) {
        let (date, time) = to_dos(self.modified);
        for number in [self.flags, contents.method, time, date] {
            put16(bytes, number);
        }
        put32(bytes, contents.crc32);
    }
}

fn version_needed(is_wide: bool, method: u16) -> u16 {
    match (is_wide, method) {
        (true, _) => ZIP64_VERSION,
        (false, method::STORED) => 10,
        (false, _) => 20,
    }
}

fn put16(bytes: &mut Vec<u8>, number: u16) {
    bytes.extend(number.to_le_bytes());
}

fn put32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend(number.to_le_bytes());
}

fn put_len(bytes: &mut Vec<u8>, what: &[u8]) -> Result<(), Error> {
    let len = u16::try_from(what.len())
        .map_err(|_| unwritable("an entry's name, extra fields or comment became too long for the format"))?;
    put16(bytes, len);
    Ok(())
}
