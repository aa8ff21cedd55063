//! Contents on their way out: the right bytes, or an error and never a byte too many.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zipfs_archive_zip::contract::{Entry, EntryKind};
use zipfs_archive_zip::extract::extract;

use crate::memory::{Files, LIMITS, listing, open};
use zipfs_test_archives::made::{deflate, deflated, stored, zip};

/// Bytes that compress a little, the same every time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8 & 0x3f
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn files_of_all_sizes_come_out_as_another_writer_put_them_in() {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let sizes = [0, 1, 31, 4096, 65_535, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000];
    for (number, &size) in sizes.iter().enumerate() {
        for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(format!("{number}/{method}"), options).unwrap();
            writer.write_all(&noise(size)).unwrap();
        }
    }
    let bytes = writer.finish().unwrap().into_inner();
    let files = open(&bytes).unwrap();
    assert_eq!(files.contents.len(), 2 * sizes.len());
    for (path, contents) in &files.contents {
        let number: usize = path.split_once('/').unwrap().0.parse().unwrap();
        assert!(*contents == noise(sizes[number]), "{path}");
    }
}

#[test]
fn only_files_are_extracted_and_only_those_asked_for() {
    let bytes = zip([stored("d/", ""), stored("link", "d").mode(0o120_777), stored("d/a", "1"), stored("b", "2")]);
    let entries = listing(&bytes).unwrap().entries;
    let mut files = Files::default();
    extract(&bytes[..], &entries[..3], &mut files).unwrap();
    assert_eq!(files.contents.into_keys().collect::<Vec<_>>(), ["d/a"]);
    assert_eq!(files.modified["d/a"], entries[2].modified);
}

fn refusal(archive: &[u8]) -> (String, usize) {
    let mut files = Files::default();
    let entries = zipfs_archive_zip::scan::scan(archive, &LIMITS).unwrap().into_listing().entries;
    let error = extract(archive, &entries, &mut files).expect_err("it was extracted");
    (error.code, files.contents.values().map(Vec::len).sum())
}

#[test]
fn damage_is_found() {
    let contents = noise(10_000);
    let good = deflated("a", &contents);
    let mut flipped = good.clone();
    flipped.data[5000] ^= 0x10;
    let crc = good.clone().both(|head| head.crc32 ^= 1);
    let stored_crc = stored("a", &contents).both(|head| head.crc32 ^= 1);
    let cut = good.clone().with(|part| part.data.truncate(6000)).both(|head| head.compressed_size = 6000);
    let short = good.both(|head| (head.size, head.crc32) = (head.size + 1, 0));
    for part in [flipped, crc, stored_crc, cut, short] {
        assert_eq!(refusal(&zip([part])).0, "ZIP_INVALID");
    }
}

#[test]
fn fewer_bytes_than_declared_pass_if_the_checksum_vouches_for_them() {
    let short = deflated("a", "contents").both(|head| head.size += 1);
    assert_eq!(open(&zip([short])).unwrap().contents["a"], b"contents");
}

#[test]
fn an_entry_that_outgrows_its_size_is_refused() {
    let contents = noise(3_000_000);
    let lying = |size: u32| zip([deflated("a", &contents).both(|head| head.size = size)]);
    for (size, code) in
        [(2_999_999, "ZIP_INVALID"), (2_000_000, "ZIP_BOMB_DETECTED"), (1, "ZIP_BOMB_DETECTED"), (0, "ZIP_BOMB_DETECTED")]
    {
        let (refused, written) = refusal(&lying(size));
        assert_eq!(refused, code, "{size}");
        assert!(written <= size as usize, "{written} bytes written for {size}");
    }
}

#[test]
fn an_unending_stream_of_nothing_ends() {
    // Empty stored blocks, none of them the last: input without output.
    let data = [0u8, 0, 0, 0xff, 0xff].repeat(100_000);
    let part = deflated("a", "").with(|part| part.data = data.clone()).both(|head| head.compressed_size = 500_000);
    assert_eq!(refusal(&zip([part])), ("ZIP_INVALID".into(), 0));
}

#[test]
fn bytes_behind_the_stream_are_ignored() {
    let data = [deflate(b"contents"), b"tail".to_vec()].concat();
    let part = deflated("a", "contents").both(|head| head.compressed_size += 4).with(|part| part.data = data.clone());
    assert_eq!(open(&zip([part])).unwrap().contents["a"], b"contents");
}

#[test]
fn entries_that_do_not_fit_the_archive_are_refused() {
    let bytes = zip([stored("a", "contents")]);
    let good = listing(&bytes).unwrap().entries.remove(0);
    let lies: [fn(&mut Entry); 7] = [
        |entry| entry.offset = 1,
        |entry| entry.offset = u64::MAX,
        |entry| entry.span = 10,
        |entry| entry.compressed_size = u64::MAX,
        |entry| entry.method = 12,
        |entry| entry.method = 1,
        |entry| (entry.kind, entry.crc32) = (EntryKind::File, 0),
    ];
    for lie in lies {
        let mut entry = good.clone();
        lie(&mut entry);
        assert!(extract(&bytes[..], &[entry], &mut Files::default()).is_err());
    }
}
