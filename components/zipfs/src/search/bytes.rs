//! A set of bytes, and how often text has them.

/// Which bytes can be at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    pub const EMPTY: ByteSet = ByteSet([0; 4]);

    pub fn one(byte: u8) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        set.insert(byte);
        set
    }

    pub fn range(from: u8, to: u8) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        (from..=to).for_each(|byte| set.insert(byte));
        set
    }

    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    #[inline]
    pub fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        *self == ByteSet::EMPTY
    }

    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|&byte| self.has(byte))
    }

    /// A mask and a value, such that exactly these bytes have the value under the mask; `None` if there are no two such numbers.
    /// A letter in both cases is such a set.
    pub fn masked(&self) -> Option<(u8, u8)> {
        let (all, any) = self.iter().fold((255, 0), |(all, any), byte| (all & byte, any | byte));
        let mask = !(all ^ any);
        let count = 1_u32 << mask.count_zeros();
        let have = self.0.iter().map(|word| word.count_ones()).sum::<u32>();
        (have == count).then_some((mask, all & mask))
    }

    /// How many of a thousand bytes of text are in the set.
    pub fn per_mille(&self) -> f32 {
        self.iter().map(per_mille).sum::<f32>().min(1000.0)
    }
}

/// How many of a thousand bytes of text and code are this one, roughly. It only decides where is looked first.
fn per_mille(byte: u8) -> f32 {
    match byte {
        b' ' => 150.0,
        b'e' => 70.0,
        b't' => 55.0,
        b'a' | b'i' | b'n' | b'r' | b's' => 44.0,
        b'o' => 40.0,
        b'l' => 30.0,
        b'c' | b'd' | b'u' => 25.0,
        b'f' | b'h' | b'm' | b'p' | b'_' => 17.0,
        b'b' | b'g' | b'(' | b')' | b',' | b'.' | b'/' | b':' | b';' => 12.0,
        b'v' | b'w' | b'y' | b'=' | b'-' => 9.0,
        b'k' | b'x' | b'"' | b'*' | b'<' | b'>' | b'{' | b'}' | b'0'..=b'9' => 5.0,
        b'A'..=b'I' | b'L'..=b'P' | b'R'..=b'U' | b'[' | b']' | b'&' | b'\'' | b'#' | b'!' => 3.0,
        b'j' | b'q' | b'z' | b'V' | b'W' | b'\t' => 2.0,
        b'\n' => 25.0,
        b'J' | b'K' | b'Q' | b'X' | b'Y' | b'Z' | 0x80.. => 0.8,
        control if control < b' ' => 0.2,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_and_a_value_say_the_same_as_the_set() {
        let of = |bytes: &[u8]| {
            let mut set = ByteSet::EMPTY;
            bytes.iter().for_each(|&byte| set.insert(byte));
            set
        };
        for (bytes, expressible) in
            [(&b"a"[..], true), (b"aA", true), (b"aB", false), (b"abc", false), (b"0123", true), (b"@`", true)]
        {
            let set = of(bytes);
            assert_eq!(set.masked().is_some(), expressible, "{bytes:?}");
            if let Some((mask, value)) = set.masked() {
                for byte in 0..=255 {
                    assert_eq!(byte & mask == value, set.has(byte), "{byte} in {bytes:?}");
                }
            }
        }
        assert_eq!(ByteSet::range(0, 255).masked(), Some((0, 0)));
        assert_eq!(ByteSet::EMPTY.masked(), None);
        assert_eq!(of(b"zx0").iter().collect::<Vec<_>>(), b"0xz");
    }
}
