//! Archives beyond 4 GiB, made of holes: nothing of that size is ever written.

use zipfs_archive_zip::bytes::Bytes;
use zipfs_archive_zip::contract::{Change, EntryKind, Listing, NewEntry, ReplacementEntry};
use zipfs_archive_zip::pack::{Output, pack};
use zipfs_archive_zip::scan::{NO_LIMITS, scan};

use crate::memory::{Files, LATER, check_result, places, prepared};
use zipfs_test_archives::made::field;

const FIVE_GIB: u64 = 5 << 30;

/// Bytes with holes in them.
#[derive(Default)]
struct Sparse(Vec<Piece>);

#[derive(Clone)]
enum Piece {
    Bytes(Vec<u8>),
    Hole(u64),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Hole(len) => *len,
        }
    }

    fn part(&self, from: u64, to: u64) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes[from as usize..to as usize].to_vec()),
            Self::Hole(_) => Self::Hole(to - from),
        }
    }
}

impl Sparse {
    fn range(&self, offset: u64, len: u64) -> Vec<Piece> {
        let mut at = 0;
        let mut parts = Vec::new();
        for piece in &self.0 {
            let (from, to) = (offset.clamp(at, at + piece.len()) - at, (offset + len).clamp(at, at + piece.len()) - at);
            if from < to {
                parts.push(piece.part(from, to));
            }
            at += piece.len();
        }
        parts
    }
}

impl Bytes for Sparse {
    fn size(&self) -> u64 {
        self.0.iter().map(Piece::len).sum()
    }

    fn read(&self, offset: u64, len: u32) -> Vec<u8> {
        let bytes = |piece| match piece {
            Piece::Bytes(bytes) => bytes,
            Piece::Hole(len) => vec![0; len as usize],
        };
        self.range(offset, u64::from(len).min(1 << 20)).into_iter().flat_map(bytes).collect()
    }
}

impl Output for Sparse {
    type Source = Sparse;

    fn append(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.0.push(Piece::Bytes(bytes.to_vec()));
        Ok(())
    }

    fn append_from(&mut self, source: &Sparse, offset: u64, len: u64) -> Result<(), String> {
        self.0.extend(source.range(offset, len));
        Ok(())
    }

    fn block_size(&self) -> u32 {
        0
    }
}

/// An archive with an entry of 5 GiB of zeros, and a small one behind it.
fn huge() -> Sparse {
    let number = |number: u64| number.to_le_bytes();
    let head = |signature: &[u8], made_by: &[u8], size: u32, extra: &[u8]| {
        let mut bytes = [signature, made_by, &[45, 0, 0, 0, 0, 0, 0, 0x60, 0x21, 0x5a, 0, 0, 0, 0]].concat();
        bytes.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
        bytes.extend([1, 0]);
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes
    };
    let sizes = field(1, &[number(FIVE_GIB), number(FIVE_GIB)].concat());
    let small_at = 31 + sizes.len() as u64 + FIVE_GIB;
    let place = field(1, &number(small_at));
    let local = |name: &[u8], size, extra: &[u8]| [&head(b"PK\x03\x04", b"", size, extra), name, extra].concat();
    let central = |name: &[u8], size, offset: u32, extra: &[u8]| {
        let head = head(b"PK\x01\x02", &[20, 3], size, extra);
        [&head, &[0; 10][..], &offset.to_le_bytes(), name, extra].concat()
    };
    let directory = [central(b"a", u32::MAX, 0, &sizes), central(b"b", 0, u32::MAX, &place)].concat();
    let directory_at = small_at + 31;
    let mut end = b"PK\x06\x06".to_vec();
    end.extend(number(44));
    end.extend([45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    end.extend([number(2), number(2), number(directory.len() as u64), number(directory_at)].concat());
    end.extend(b"PK\x06\x07\0\0\0\0");
    end.extend(number(directory_at + directory.len() as u64));
    end.extend([1, 0, 0, 0]);
    end.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    Sparse(vec![
        Piece::Bytes(local(b"a", u32::MAX, &sizes)),
        Piece::Hole(FIVE_GIB),
        Piece::Bytes(local(b"b", 0, b"")),
        Piece::Bytes(directory),
        Piece::Bytes(end),
    ])
}

#[track_caller]
fn packed(source: &Sparse, changes: &[Change]) -> (Sparse, Listing) {
    let mut files = Files::of(&[("b", b"new"), ("c", b"added")]);
    let mut output = Sparse::default();
    let before = scan(source, &NO_LIMITS).unwrap().into_listing().entries;
    let (scratch, changes) = prepared::<Sparse>(&before, changes, &mut files).unwrap();
    let written = pack(Some(source), &places(&before), &changes, &scratch, &mut output).unwrap();
    let after = scan(&output, &NO_LIMITS).unwrap().into_listing();
    check_result(&before, &changes, &written, &after.entries);
    (output, after)
}

#[test]
fn places_beyond_4_gib_are_read_and_written() {
    let source = huge();
    let entries = scan(&source, &NO_LIMITS).unwrap().into_listing().entries;
    assert_eq!((entries[0].size, entries[0].offset), (FIVE_GIB, 0));
    assert_eq!(entries[1].offset, entries[0].span);

    let (same, _) = packed(&source, &[]);
    assert_eq!(same.size(), source.size());

    let added = Change::Add(NewEntry { path: "c".into(), kind: EntryKind::File, modified: 0, mode: 0o644, contents: LATER });
    let replaced = Change::Replace(ReplacementEntry { index: 1, modified: 0, mode: 0o644, contents: LATER });
    let (more, written) = packed(&source, &[added, replaced]);
    assert!(written.entries[1].offset > FIVE_GIB && written.entries[2].offset > written.entries[1].offset);

    // Without the large one everything is near the beginning, and the archive is plain again.
    let (less, written) = packed(&more, &[Change::Remove(0)]);
    assert_eq!(written.entries[0].offset, 0);
    assert!(less.size() < 1000);
    assert!(!less.read(0, 1000).windows(4).any(|window| window == b"PK\x06\x06"));
}
