//! Archives cut off and scrambled: whatever comes of them, it is an answer and not a crash.

use crate::made::{archive, deflated, field, stored, zip};
use crate::memory::{Files, listing, open, packed};

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

#[test]
fn mutants_never_panic() {
    // A fixed generator: the same mutants on every machine.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let seeds = seeds();
    for _ in 0..20_000 {
        let mut bytes = seeds[next(seeds.len())].clone();
        for _ in 0..=next(4) {
            let (at, len) = (next(bytes.len()), 1 + next(8));
            match next(6) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at..].iter_mut().take(len).for_each(|byte| *byte = 0xff),
                2 => bytes[at..].iter_mut().take(len).for_each(|byte| *byte = 0),
                3 => drop(bytes.drain(at..(at + len).min(bytes.len()))),
                4 => bytes.splice(at..at, (0..len).map(|_| next(256) as u8).collect::<Vec<_>>()).for_each(drop),
                _ => {
                    let from = next(bytes.len());
                    let piece = bytes[from..(from + 60).min(bytes.len())].to_vec();
                    drop(bytes.splice(at..at, piece));
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        use_it(&bytes);
    }
}
