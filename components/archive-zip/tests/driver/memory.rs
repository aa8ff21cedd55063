//! A workspace and an output in memory.

use std::collections::BTreeMap;

use zipfs_archive_zip::contract::{Change, Entry, EntryKind, Error, ErrorClass, Limits, Listing, Place, Prepared, Wanted};
use zipfs_archive_zip::extract::{Create, extract};
use zipfs_archive_zip::pack::{Output, pack};
use zipfs_archive_zip::prepare::{Contents, prepare};
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

pub const LIMITS: Limits = Limits { max_entries: 100_000, max_total_size: 1 << 30, max_ratio: 100, ratio_min_size: 0 };

/// The files of a workspace, with their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    pub contents: BTreeMap<String, Vec<u8>>,
    pub modified: BTreeMap<String, Option<i64>>,
}

impl Files {
    pub fn of(files: &[(&str, &[u8])]) -> Self {
        let contents = files.iter().map(|(path, bytes)| (path.to_string(), bytes.to_vec())).collect();
        Self { contents, ..Self::default() }
    }
}

impl Create for Files {
    type File = String;

    fn create(&mut self, path: &str) -> Result<String, Error> {
        assert!(self.contents.insert(path.into(), Vec::new()).is_none(), "{path} was made twice");
        Ok(path.into())
    }

    fn write(&mut self, file: &String, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let contents = self.contents.get_mut(file).unwrap();
        assert_eq!(contents.len() as u64, offset);
        assert!(bytes.len() <= 1 << 20, "a piece of {} bytes", bytes.len());
        contents.extend(bytes);
        Ok(())
    }

    fn finish(&mut self, file: String, modified: Option<i64>) -> Result<(), Error> {
        self.modified.insert(file, modified);
        Ok(())
    }
}

impl Contents for Files {
    type File = String;

    fn open(&mut self, path: &str) -> Result<(String, u64), Error> {
        match self.contents.get(path) {
            Some(contents) => Ok((path.into(), contents.len() as u64)),
            None => Err(Error {
                class: ErrorClass::Conflict,
                code: "SYNC_FAILED".into(),
                message: format!("{path} is gone"),
                suggestion: None,
                details: None,
            }),
        }
    }

    fn read_link(&mut self, path: &str) -> Result<String, Error> {
        let (file, _) = self.open(path)?;
        Ok(String::from_utf8(self.contents[&file].clone()).unwrap())
    }

    fn read(&mut self, file: &String, offset: u64, len: u32) -> Result<Vec<u8>, Error> {
        let contents = &self.contents[file];
        let start = (offset as usize).min(contents.len());
        // As wasmtime does: never more than 64 KiB at once.
        let end = (start + (len as usize).min(64 << 10)).min(contents.len());
        Ok(contents[start..end].to_vec())
    }
}

/// An archive being written, and how often the host was asked for a range.
#[derive(Default)]
pub struct Staged {
    pub bytes: Vec<u8>,
    pub ranges: Vec<(u64, u64)>,
    pub room: Option<usize>,
    pub block_size: u32,
}

impl Output for Staged {
    type Source = [u8];

    fn append(&mut self, bytes: &[u8]) -> Result<(), String> {
        assert!(bytes.len() <= 1 << 20);
        if self.room.is_some_and(|room| self.bytes.len() + bytes.len() > room) {
            return Err("no space left".into());
        }
        self.bytes.extend(bytes);
        Ok(())
    }

    fn append_from(&mut self, source: &[u8], offset: u64, len: u64) -> Result<(), String> {
        self.ranges.push((offset, len));
        self.append(&[])?;
        self.bytes.extend(&source[offset as usize..(offset + len) as usize]);
        Ok(())
    }

    fn block_size(&self) -> u32 {
        self.block_size
    }
}

/// Scans with the default limits.
pub fn listing(archive: &[u8]) -> Result<Listing, Error> {
    scan(archive, &LIMITS).map(|directory| directory.into_listing())
}

/// Scans and extracts, as opening an archive does.
pub fn open(archive: &[u8]) -> Result<Files, Error> {
    let mut files = Files::default();
    extract(archive, &listing(archive)?.entries, &mut files)?;
    Ok(files)
}

/// Contents that [`prepared`] fills in.
pub const LATER: Prepared = Prepared { offset: 0, size: 0, compressed_size: 0, crc32: 0, method: 0 };

/// Puts the contents that changes ask for into a scratch file, and into the changes where they are.
pub fn prepared<O: Output + Default>(entries: &[Entry], changes: &[Change], files: &mut Files) -> Result<(O, Vec<Change>), Error> {
    let wanted = changes.iter().filter_map(|change| match change {
        Change::Remove(_) => None,
        Change::Replace(with) => {
            let entry = entries.get(with.index as usize)?;
            Some(Wanted { path: entry.path.clone(), kind: EntryKind::File, method: Some(entry.method) })
        }
        Change::Add(new) => Some(Wanted { path: new.path.clone(), kind: new.kind, method: None }),
    });
    let mut scratch = O::default();
    let mut ready = prepare(&wanted.collect::<Vec<_>>(), files, &mut scratch)?.into_iter();
    let mut changes = changes.to_vec();
    for change in &mut changes {
        match change {
            Change::Replace(with) if entries.len() > with.index as usize => with.contents = ready.next().unwrap(),
            Change::Add(new) => new.contents = ready.next().unwrap(),
            _ => {}
        }
    }
    Ok((scratch, changes))
}

/// Where the entries of a listing are.
pub fn places(entries: &[Entry]) -> Vec<Place> {
    entries.iter().map(|entry| Place { offset: entry.offset, span: entry.span }).collect()
}

/// What was kept must be there as it was, but for its place, and what was written as the driver says.
#[track_caller]
pub fn check_result(before: &[Entry], changes: &[Change], written: &[Entry], after: &[Entry]) {
    let fate = |index: usize| {
        changes.iter().find(|change| match change {
            Change::Remove(number) => *number as usize == index,
            Change::Replace(with) => with.index as usize == index,
            Change::Add(_) => false,
        })
    };
    let mut written = written.iter();
    let mut after = after.iter();
    for (index, old) in before.iter().enumerate() {
        match fate(index) {
            Some(Change::Remove(_)) => {}
            Some(_) => assert_eq!(written.next(), after.next()),
            None => assert_eq!(after.next().map(|new| Entry { offset: old.offset, ..new.clone() }).as_ref(), Some(old)),
        }
    }
    assert!(written.eq(after));
}

/// Packs into memory, and reads the result as the host does.
pub fn packed(source: Option<&[u8]>, changes: &[Change], files: &mut Files) -> Result<(Staged, Listing), Error> {
    packed_into(Staged::default(), source, changes, files)
}

pub fn packed_into(
    mut staged: Staged,
    source: Option<&[u8]>,
    changes: &[Change],
    files: &mut Files,
) -> Result<(Staged, Listing), Error> {
    let read = |archive: &[u8]| scan(archive, &NO_LIMITS).map(|directory| directory.into_listing());
    let before = source.map_or_else(|| Ok(Vec::new()), |source| read(source).map(|listing| listing.entries))?;
    let (scratch, changes) = prepared::<Staged>(&before, changes, files)?;
    let written = pack(source, &places(&before), &changes, &scratch.bytes[..], &mut staged)?;
    let listing = read(&staged.bytes)?;
    check_result(&before, &changes, &written, &listing.entries);
    Ok((staged, listing))
}
