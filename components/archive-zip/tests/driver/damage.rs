//! Archives cut off and scrambled: whatever comes of them, it is an answer and not a crash.

use std::time::{Duration, Instant};

use crate::memory::{Files, listing, open, packed};
use zipfs_test_archives::made::{archive, deflated, field, stored, zip};
use zipfs_test_archives::mutants::Mutator;

/// A small archive with a bit of everything.
fn seeds() -> Vec<Vec<u8>> {
    let times = field(0x5455, &[1, 1, 2, 3, 4]);
    let parts = || {
        [
            stored("mimetype", "application/zip").both(|head| head.extra = times.clone()),
            deflated("dir/text", b"some text, some text, some text").streamed(true, false),
            stored("dir/", "").mode(0o040_755),
            deflated("dir/wide", b"wide").streamed(false, true),
            stored("link", "mimetype").mode(0o120_777),
        ]
    };
    let plain = archive(parts()).with(|made| made.comment = b"comment".to_vec());
    let wide = plain.clone().with(|made| (made.is_zip64, made.prefix, made.is_shifted) = (true, b"prefix".to_vec(), true));
    vec![plain.bytes(), wide.bytes(), zip([])]
}

/// Everything that the driver does with an archive from outside.
fn use_it(bytes: &[u8]) {
    if listing(bytes).is_ok() {
        let _ = open(bytes);
        let (staged, written) = packed(Some(bytes), &[], &mut Files::default()).expect("what was let in can be written");
        let again = zipfs_archive_zip::scan::scan(&staged.bytes[..], &zipfs_archive_zip::scan::NO_LIMITS);
        assert_eq!(again.expect("what was written can be read").into_listing(), written);
    }
}

#[test]
fn cutting_at_every_byte_never_panics_and_never_passes() {
    for seed in seeds() {
        for len in 0..seed.len() {
            assert!(listing(&seed[..len]).is_err(), "{len} of {} bytes", seed.len());
            use_it(&seed[seed.len() - len..]);
        }
    }
}

#[test]
fn every_bit_can_be_wrong() {
    for seed in seeds() {
        for at in 0..seed.len() {
            for bit in 0..8 {
                let mut bytes = seed.clone();
                bytes[at] ^= 1 << bit;
                use_it(&bytes);
            }
        }
    }
}

/// Ten thousand mutants for each of three seeds, each judged within a second. The same through the sandbox, fewer of them, is in
/// the host's tests.
#[test]
fn mutants_never_panic_or_hang() {
    let mut seeds = seeds();
    seeds.extend(zipfs_test_archives::all().into_iter().map(|case| case.bytes).filter(|bytes| bytes.len() < 4096));
    for seed in [1, 2, 3] {
        let mut mutator = Mutator::new(seed);
        for number in 0..10_000 {
            let mutant = mutator.mutant(&seeds);
            let start = Instant::now();
            use_it(&mutant);
            assert!(start.elapsed() < Duration::from_secs(1), "mutant {number} of seed {seed} took {:?}", start.elapsed());
        }
    }
}

/// The decoders of the other methods get mutants of their own: the structure around the contents stays whole, so that all of them
/// reach the decoder.
#[test]
fn mutants_of_compressed_contents_never_panic_or_hang() {
    use zipfs_test_archives::fixtures::{LZMA, XZ, ZSTD, text};
    let inner = |archive: &[u8]| {
        let entry = listing(archive).unwrap().entries.remove(0);
        let end = (entry.offset + entry.span) as usize;
        (entry.method, archive[end - entry.compressed_size as usize..end].to_vec())
    };
    let archives = zipfs_test_archives::fixtures::ARCHIVES;
    let streams =
        archives.iter().map(|(_, bytes)| inner(bytes)).chain([(14, LZMA.to_vec()), (93, ZSTD.to_vec()), (95, XZ.to_vec())]);
    let mut mutator = Mutator::new(4);
    for (method, data) in streams {
        for number in 0..300 {
            let mutant = mutator.mutant(std::slice::from_ref(&data));
            let start = Instant::now();
            let _ = open(&zip([text(method, &mutant), text(method, &mutant).both(|head| head.flags |= 2)]));
            let _ = open(&zip([text(method, &mutant).both(|head| head.flags |= 2)]));
            assert!(start.elapsed() < Duration::from_secs(1), "mutant {number} by method {method} took {:?}", start.elapsed());
        }
    }
}
