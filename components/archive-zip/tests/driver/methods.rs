//! Contents by other compression methods, as other programs wrote them.

use zipfs_test_archives::fixtures::{ARCHIVES, LZMA, TEXT, XZ, ZSTD, text};
use zipfs_test_archives::made::zip;

use crate::memory::open;

#[test]
fn what_other_programs_compressed_comes_out_right() {
    for (name, bytes) in ARCHIVES {
        let files = open(bytes).unwrap_or_else(|error| panic!("{name}: {}", error.message));
        assert!(files.contents["text"] == TEXT, "{name}");
        if name.starts_with("python") {
            assert_eq!(files.contents["empty"], b"", "{name}");
            assert_eq!(files.contents["small"], b"hello hello hello", "{name}");
        }
    }
    for (method, data) in [(14, LZMA), (93, ZSTD), (95, XZ)] {
        assert!(open(&zip([text(method, data)])).unwrap().contents["text"] == TEXT, "method {method}");
    }
}

#[test]
fn frames_of_zstd_follow_each_other() {
    let twice = [ZSTD, ZSTD].concat();
    let part = text(93, &twice).both(|head| (head.size, head.crc32) = (80_000, crc32fast::hash(&TEXT.repeat(2))));
    assert!(open(&zip([part])).unwrap().contents["text"] == TEXT.repeat(2));
}

/// A decoder that believed the claim would need 4 GiB before its first byte; natively, too, nothing of the kind is allocated.
#[test]
fn a_dictionary_of_four_gibibytes_is_refused() {
    let mut claims = LZMA.to_vec();
    claims[5..9].fill(0xff);
    let error = open(&zip([text(14, &claims)])).unwrap_err();
    assert_eq!(error.code, "ZIP_BOMB_DETECTED");
    assert!(error.message.contains("dictionary"), "{}", error.message);
}

#[test]
fn bytes_behind_the_end_of_a_stream_are_ignored() {
    for (method, data) in [(14, LZMA), (95, XZ)] {
        let tailed = [data, b"tail"].concat();
        assert!(open(&zip([text(method, &tailed)])).unwrap().contents["text"] == TEXT, "method {method}");
    }
}

#[test]
fn lzma_with_two_opinions_on_its_end_is_refused() {
    let part = text(14, LZMA).local(|head| head.flags |= 2);
    assert!(open(&zip([part])).unwrap_err().message.contains("A1"));
}
