//! Archives byte by byte: made with whatever a header can say, and read without interpreting anything.

/// An entry to be written, stored. `Default` is a plain Unix file.
#[derive(Clone)]
pub struct Part {
    pub name: Vec<u8>,
    pub contents: Vec<u8>,
    pub flags: u16,
    /// System in the upper byte (3 is Unix, 0 is DOS), version in the lower.
    pub made_by: u16,
    pub attributes: u32,
    /// Date and time as DOS has them.
    pub modified: (u16, u16),
    pub local_extra: Vec<u8>,
    pub central_extra: Vec<u8>,
    pub comment: Vec<u8>,
}

impl Part {
    pub fn new(name: impl AsRef<[u8]>, contents: impl AsRef<[u8]>) -> Part {
        Part {
            name: name.as_ref().to_vec(),
            contents: contents.as_ref().to_vec(),
            flags: 0,
            made_by: 3 << 8 | 20,
            attributes: 0o100_644 << 16,
            // 2021-06-15 12:30:40
            modified: ((2021 - 1980) << 9 | 6 << 5 | 15, 12 << 11 | 30 << 5 | 20),
            local_extra: Vec::new(),
            central_extra: Vec::new(),
            comment: Vec::new(),
        }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Part)) -> Part {
        change(&mut self);
        self
    }

    /// The mode, type included.
    pub fn mode(self, mode: u32) -> Part {
        self.with(|part| part.attributes = mode << 16)
    }

    /// The name is UTF-8, and says so.
    pub fn utf8(self) -> Part {
        self.with(|part| part.flags |= 1 << 11)
    }

    /// What both headers have in common.
    fn shared(&self, extra: &[u8]) -> Vec<u8> {
        let mut bytes = vec![20, 0];
        for number in [self.flags, 0, self.modified.1, self.modified.0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(crc32fast::hash(&self.contents).to_le_bytes());
        for _ in 0..2 {
            bytes.extend((self.contents.len() as u32).to_le_bytes());
        }
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes
    }
}

/// An extra field.
pub fn field(id: u16, body: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(body.len() as u16).to_le_bytes(), body].concat()
}

/// The bytes of an archive behind a prefix. Offsets count from the beginning of the file, as `zip -A` leaves them.
pub fn raw_zip(prefix: &[u8], parts: &[Part], comment: &[u8]) -> Vec<u8> {
    let mut bytes = prefix.to_vec();
    let mut directory = Vec::new();
    for part in parts {
        let offset = bytes.len() as u32;
        bytes.extend(b"PK\x03\x04");
        bytes.extend(part.shared(&part.local_extra));
        bytes.extend([&part.name[..], &part.local_extra, &part.contents].concat());
        directory.extend(b"PK\x01\x02");
        directory.extend(part.made_by.to_le_bytes());
        directory.extend(part.shared(&part.central_extra));
        directory.extend((part.comment.len() as u16).to_le_bytes());
        directory.extend([0; 4]);
        directory.extend(part.attributes.to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend([&part.name[..], &part.central_extra, &part.comment].concat());
    }
    let (at, len, count) = (bytes.len() as u32, directory.len() as u32, parts.len() as u16);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend([len.to_le_bytes(), at.to_le_bytes()].concat());
    bytes.extend((comment.len() as u16).to_le_bytes());
    bytes.extend(comment);
    bytes
}

/// An entry as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RawEntry {
    pub name: Vec<u8>,
    pub local_name: Vec<u8>,
    pub flags: (u16, u16),
    pub made_by: u16,
    pub method: u16,
    pub attributes: u32,
    pub central_extra: Vec<u8>,
    pub local_extra: Vec<u8>,
    pub comment: Vec<u8>,
    /// Compressed.
    pub data: Vec<u8>,
}

/// All entries in the order of the directory. Knows no zip64 and no comment with the signature in it: the samples have none.
#[track_caller]
pub fn raw_entries(bytes: &[u8]) -> Vec<RawEntry> {
    let u16_at = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let cut = |at: usize, len: u16| bytes[at..at + usize::from(len)].to_vec();
    let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06").expect("an end record");
    let mut at = u32_at(end + 16) as usize;
    let mut entries = Vec::new();
    for _ in 0..u16_at(end + 10) {
        assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
        let (name, extra, comment) = (u16_at(at + 28), u16_at(at + 30), u16_at(at + 32));
        let local = u32_at(at + 42) as usize;
        assert_eq!(&bytes[local..local + 4], b"PK\x03\x04");
        let (local_name, local_extra) = (u16_at(local + 26), u16_at(local + 28));
        let data = local + 30 + usize::from(local_name) + usize::from(local_extra);
        entries.push(RawEntry {
            name: cut(at + 46, name),
            local_name: cut(local + 30, local_name),
            flags: (u16_at(at + 8), u16_at(local + 6)),
            made_by: u16_at(at + 4),
            method: u16_at(at + 10),
            attributes: u32_at(at + 38),
            central_extra: cut(at + 46 + usize::from(name), extra),
            local_extra: cut(local + 30 + usize::from(local_name), local_extra),
            comment: cut(at + 46 + usize::from(name) + usize::from(extra), comment),
            data: bytes[data..data + u32_at(at + 20) as usize].to_vec(),
        });
        at += 46 + usize::from(name) + usize::from(extra) + usize::from(comment);
    }
    entries
}
