//! Contents and archives as other programs made them, by 7-Zip 26, Python 3.11, xz 5.4 and zstd 1.5.

use crate::made::{Part, compressed};

/// What all of them hold: 40,000 bytes, with repetitions near and farther away than deflate reaches.
pub const TEXT: &[u8] = include_bytes!("../fixtures/text");

/// One Zstandard frame of [`TEXT`].
pub const ZSTD: &[u8] = include_bytes!("../fixtures/text.zst");
/// One xz stream of [`TEXT`], with a dictionary of 64 MiB.
pub const XZ: &[u8] = include_bytes!("../fixtures/text.xz");
/// [`TEXT`] as LZMA without a mark at its end, with the header that a zip puts before it.
pub const LZMA: &[u8] = include_bytes!("../fixtures/text.lzma");

/// Archives in which the entry `text` has [`TEXT`] in it.
pub const ARCHIVES: [(&str, &[u8]); 6] = [
    ("7z-deflate64", include_bytes!("../fixtures/7z-deflate64.zip")),
    ("7z-bzip2", include_bytes!("../fixtures/7z-bzip2.zip")),
    ("7z-lzma", include_bytes!("../fixtures/7z-lzma.zip")),
    ("7z-xz", include_bytes!("../fixtures/7z-xz.zip")),
    ("python-bzip2", include_bytes!("../fixtures/python-bzip2.zip")),
    ("python-lzma", include_bytes!("../fixtures/python-lzma.zip")),
];

/// An entry `text` that holds [`TEXT`], compressed to `data`.
pub fn text(method: u16, data: &[u8]) -> Part {
    compressed("text", method, data, TEXT)
}
