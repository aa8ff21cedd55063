//! Little-endian numbers in records whose length the caller has checked.

pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// The flag bits of an entry that mean something to us.
pub mod flag {
    pub const ENCRYPTED: u16 = 1 << 0;
    /// For LZMA only: a mark ends the contents, not their size.
    pub const LZMA_END_MARK: u16 = 1 << 1;
    /// Sizes and checksum follow the contents.
    pub const DESCRIPTOR: u16 = 1 << 3;
    pub const PATCH: u16 = 1 << 5;
    pub const STRONG_ENCRYPTION: u16 = 1 << 6;
    /// The name is UTF-8.
    pub const UTF8: u16 = 1 << 11;
    pub const MASKED_HEADERS: u16 = 1 << 13;
}

/// Compression methods by their number.
pub mod method {
    pub const STORED: u16 = 0;
    pub const DEFLATED: u16 = 8;
    pub const DEFLATE64: u16 = 9;
    pub const BZIP2: u16 = 12;
    pub const LZMA: u16 = 14;
    pub const ZSTD: u16 = 93;
    pub const XZ: u16 = 95;
    pub const AES: u16 = 99;

    /// Whether contents compressed by `method` can be unpacked.
    pub fn is_readable(method: u16) -> bool {
        matches!(method, STORED | DEFLATED | DEFLATE64 | BZIP2 | LZMA | ZSTD | XZ)
    }
}

/// A 32-bit field with this value may stand for a 64-bit one elsewhere.
pub const IN_ZIP64: u32 = u32::MAX;

pub const LOCAL_SIGNATURE: [u8; 4] = *b"PK\x03\x04";
pub const CENTRAL_SIGNATURE: [u8; 4] = *b"PK\x01\x02";
pub const DESCRIPTOR_SIGNATURE: [u8; 4] = *b"PK\x07\x08";
pub const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
pub const END64_SIGNATURE: [u8; 4] = *b"PK\x06\x06";
pub const LOCATOR_SIGNATURE: [u8; 4] = *b"PK\x06\x07";
/// A signature over the whole directory, which may follow it.
pub const DIGITAL_SIGNATURE: [u8; 4] = *b"PK\x05\x05";

pub const LOCAL_LEN: usize = 30;
pub const CENTRAL_LEN: usize = 46;
pub const END_LEN: usize = 22;
pub const END64_LEN: usize = 56;
pub const LOCATOR_LEN: usize = 20;
