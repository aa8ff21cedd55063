//! Archives made by hand, each part of which can be made to lie.

/// One entry. What the local header and the directory say can differ.
#[derive(Clone)]
pub struct Part {
    pub local: Head,
    pub central: Head,
    pub data: Vec<u8>,
    /// Behind the contents: a descriptor, or anything.
    pub trailer: Vec<u8>,
    pub made_by: u16,
    pub attributes: u32,
    pub comment: Vec<u8>,
    pub disk: u16,
    /// The offset in the directory, if it is a lie.
    pub offset: Option<u32>,
    /// Whether the directory has it.
    pub listed: bool,
    /// Whether it is in the file at all.
    pub present: bool,
}

/// What both headers of an entry say.
#[derive(Clone)]
pub struct Head {
    pub name: Vec<u8>,
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub compressed_size: u32,
    pub size: u32,
    pub extra: Vec<u8>,
}

/// A stored file.
pub fn stored(name: impl AsRef<[u8]>, contents: impl AsRef<[u8]>) -> Part {
    part(name.as_ref(), 0, contents.as_ref().to_vec(), contents.as_ref())
}

/// A deflated file.
pub fn deflated(name: impl AsRef<[u8]>, contents: impl AsRef<[u8]>) -> Part {
    part(name.as_ref(), 8, deflate(contents.as_ref()), contents.as_ref())
}

/// A file whose contents somebody else compressed.
pub fn compressed(name: impl AsRef<[u8]>, method: u16, data: &[u8], contents: &[u8]) -> Part {
    part(name.as_ref(), method, data.to_vec(), contents)
}

fn part(name: &[u8], method: u16, data: Vec<u8>, contents: &[u8]) -> Part {
    let head = Head {
        name: name.to_vec(),
        flags: 0,
        method,
        crc32: crc32fast::hash(contents),
        compressed_size: data.len() as u32,
        size: contents.len() as u32,
        extra: Vec::new(),
    };
    Part {
        local: head.clone(),
        central: head,
        data,
        trailer: Vec::new(),
        made_by: 3 << 8 | 20,
        attributes: 0,
        comment: Vec::new(),
        disk: 0,
        offset: None,
        listed: true,
        present: true,
    }
}

/// A deflate stream.
pub fn deflate(contents: &[u8]) -> Vec<u8> {
    let mut deflate = zlib_rs::Deflate::new(6, false, 15);
    let mut room = vec![0; contents.len() + 1000];
    deflate.compress(contents, &mut room, zlib_rs::DeflateFlush::Finish).expect("there is room");
    room.truncate(deflate.total_out() as usize);
    room
}

impl Part {
    /// The same lie, or truth, in both headers.
    pub fn both(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.local);
        change(&mut self.central);
        self
    }

    pub fn local(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.local);
        self
    }

    pub fn central(mut self, change: impl Fn(&mut Head)) -> Self {
        change(&mut self.central);
        self
    }

    pub fn with(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn mode(self, mode: u32) -> Self {
        self.with(|part| part.attributes = mode << 16)
    }

    /// Leaves the numbers to a descriptor of the given form.
    pub fn streamed(self, has_signature: bool, is_wide: bool) -> Self {
        let head = self.central.clone();
        let mut trailer = if has_signature { b"PK\x07\x08".to_vec() } else { Vec::new() };
        trailer.extend(head.crc32.to_le_bytes());
        for size in [head.compressed_size, head.size] {
            trailer.extend(size.to_le_bytes());
            trailer.extend(if is_wide { &[0; 4][..] } else { &[] });
        }
        let mut part = self.both(|head| head.flags |= 8).local(|head| (head.crc32, head.compressed_size, head.size) = (0, 0, 0));
        part.trailer = trailer;
        part
    }
}

/// An extra field.
pub fn field(id: u16, body: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes(), &(body.len() as u16).to_le_bytes(), body].concat()
}

/// An extra field with another name, made for the name `raw`.
pub fn unicode_name(raw: &[u8], name: &str) -> Vec<u8> {
    field(0x7075, &[&[1], &crc32fast::hash(raw).to_le_bytes()[..], name.as_bytes()].concat())
}

/// A zip64 field.
pub fn zip64(numbers: &[u64]) -> Vec<u8> {
    let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    field(1, &body)
}

/// A whole archive.
#[derive(Clone, Default)]
pub struct Made {
    pub parts: Vec<Part>,
    pub prefix: Vec<u8>,
    /// Offsets do not count the prefix.
    pub is_shifted: bool,
    pub before_directory: Vec<u8>,
    pub before_end: Vec<u8>,
    pub is_zip64: bool,
    pub before_locator: Vec<u8>,
    pub comment: Vec<u8>,
    pub behind: Vec<u8>,
    pub count: Option<u16>,
    pub directory_len: Option<u32>,
    pub directory_at: Option<u32>,
    pub disk: u16,
}

pub fn archive(parts: impl IntoIterator<Item = Part>) -> Made {
    Made { parts: parts.into_iter().collect(), ..Made::default() }
}

/// The bytes of an archive of these entries.
pub fn zip(parts: impl IntoIterator<Item = Part>) -> Vec<u8> {
    archive(parts).bytes()
}

impl Made {
    pub fn with(mut self, change: impl Fn(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let shift = if self.is_shifted { self.prefix.len() as u64 } else { 0 };
        let mut out = self.prefix.clone();
        let mut directory = Vec::new();
        let mut listed = 0u16;
        for part in &self.parts {
            let offset = part.offset.unwrap_or((out.len() as u64 - shift) as u32);
            if part.present {
                out.extend(b"PK\x03\x04");
                out.extend(20u16.to_le_bytes());
                put_head(&mut out, &part.local);
                out.extend(&part.local.name);
                out.extend(&part.local.extra);
                out.extend(&part.data);
                out.extend(&part.trailer);
            }
            if part.listed {
                listed = listed.wrapping_add(1);
                directory.extend(b"PK\x01\x02");
                directory.extend(part.made_by.to_le_bytes());
                directory.extend(20u16.to_le_bytes());
                put_head(&mut directory, &part.central);
                directory.extend((part.comment.len() as u16).to_le_bytes());
                directory.extend(part.disk.to_le_bytes());
                directory.extend([0, 0]);
                directory.extend(part.attributes.to_le_bytes());
                directory.extend(offset.to_le_bytes());
                directory.extend(&part.central.name);
                directory.extend(&part.central.extra);
                directory.extend(&part.comment);
            }
        }
        out.extend(&self.before_directory);
        let at = self.directory_at.unwrap_or((out.len() as u64 - shift) as u32);
        let len = self.directory_len.unwrap_or(directory.len() as u32);
        let count = self.count.unwrap_or(listed);
        out.extend(directory);
        out.extend(&self.before_end);
        if self.is_zip64 {
            let end_at = out.len() as u64 - shift;
            out.extend(b"PK\x06\x06");
            out.extend(44u64.to_le_bytes());
            out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            for number in [u64::from(count), u64::from(count), u64::from(len), u64::from(at)] {
                out.extend(number.to_le_bytes());
            }
            out.extend(&self.before_locator);
            out.extend(b"PK\x06\x07");
            out.extend([0; 4]);
            out.extend(end_at.to_le_bytes());
            out.extend(1u32.to_le_bytes());
        }
        out.extend(b"PK\x05\x06");
        out.extend(self.disk.to_le_bytes());
        out.extend([0, 0]);
        let (count, len, at) = if self.is_zip64 { (u16::MAX, u32::MAX, u32::MAX) } else { (count, len, at) };
        out.extend(count.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(len.to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        out.extend(&self.behind);
        out
    }
}

fn put_head(out: &mut Vec<u8>, head: &Head) {
    for number in [head.flags, head.method, 0x6000, 0x5a21] {
        out.extend(number.to_le_bytes());
    }
    for number in [head.crc32, head.compressed_size, head.size] {
        out.extend(number.to_le_bytes());
    }
    out.extend((head.name.len() as u16).to_le_bytes());
    out.extend((head.extra.len() as u16).to_le_bytes());
}
