//! Files to an archive and back: what was packed is what a scan reads, before and after changes, and what did not change keeps its
//! bytes.
#![no_main]

#[path = "../../tests/driver/memory.rs"]
#[allow(dead_code)]
mod memory;

use std::collections::BTreeMap;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use memory::{Files, LATER, packed};
use zipfs_archive_zip::contract::{Change, EntryKind, Listing, NewEntry, ReplacementEntry};
use zipfs_archive_zip::extract::extract;
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

#[derive(Arbitrary, Debug)]
struct Input {
    files: Vec<(String, Vec<u8>)>,
    directories: Vec<String>,
    modified: i64,
    mode: u32,
    /// What happens to each entry then: nothing, removal, or new contents.
    fates: Vec<u8>,
    contents: Vec<u8>,
}

fuzz_target!(|input: Input| {
    let mut files = Files::default();
    let mut changes = Vec::new();
    let mut add = |path: &String, kind, changes: &mut Vec<Change>| {
        changes.push(Change::Add(NewEntry { path: path.clone(), kind, modified: input.modified, mode: input.mode, contents: LATER }));
    };
    for (path, contents) in input.files.iter().take(20) {
        files.contents.insert(path.clone(), contents.clone());
        add(path, EntryKind::File, &mut changes);
    }
    for path in input.directories.iter().take(5) {
        add(path, EntryKind::Directory, &mut changes);
    }
    // Bad names, duplicates and clashes are refused; what is not must come back.
    let Ok((first, listing)) = packed(None, &changes, &mut files) else { return };
    assert_eq!(read(&first.bytes, &mut Files::default()), listing);
    let mut out = Files::default();
    read(&first.bytes, &mut out);
    assert_eq!(out.contents, files.contents);

    let mut fates = BTreeMap::new();
    for (index, fate) in input.fates.iter().take(listing.entries.len()).enumerate() {
        let entry = &listing.entries[index];
        match fate % 3 {
            1 => drop(fates.insert(index as u32, Change::Remove(index as u32))),
            2 if entry.kind == EntryKind::File => {
                files.contents.insert(entry.path.clone(), input.contents.clone());
                let with = ReplacementEntry { index: index as u32, modified: input.modified, mode: input.mode, contents: LATER };
                fates.insert(index as u32, Change::Replace(with));
            }
            _ => {}
        }
    }
    let changes: Vec<Change> = fates.values().cloned().collect();
    let (second, changed) = packed(Some(&first.bytes), &changes, &mut files).expect("an archive of ours can be changed");
    assert_eq!(read(&second.bytes, &mut Files::default()), changed);
    let kept = |index: &usize| !matches!(fates.get(&(*index as u32)), Some(Change::Remove(_)));
    for (new, old) in (0..listing.entries.len()).filter(kept).enumerate() {
        if !fates.contains_key(&(old as u32)) {
            let (before, after) = (&listing.entries[old], &changed.entries[new]);
            let bytes = |all: &[u8], offset: u64, span: u64| all[offset as usize..(offset + span) as usize].to_vec();
            assert_eq!(bytes(&first.bytes, before.offset, before.span), bytes(&second.bytes, after.offset, after.span));
        }
    }
});

fn read(archive: &[u8], files: &mut Files) -> Listing {
    let listing = scan(archive, &NO_LIMITS).expect("our own archive can be read").into_listing();
    extract(archive, &listing.entries, files).expect("our own archive can be extracted");
    listing
}
