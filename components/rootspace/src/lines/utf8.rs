//! Whether a file that comes in pieces is UTF-8: a character may be cut in two.

/// Remembers where the first byte is that is no part of a character.
#[derive(Debug, Default)]
pub struct Utf8Check {
    /// The beginning of a character that the last piece cut.
    cut: Vec<u8>,
    at: u64,
    broken: Option<u64>,
}

impl Utf8Check {
    /// Takes the next piece.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        while !self.cut.is_empty() {
            let Some((next, rest)) = bytes.split_first() else { return };
            self.cut.push(*next);
            bytes = rest;
            match std::str::from_utf8(&self.cut) {
                Ok(_) => {
                    self.at += self.cut.len() as u64;
                    self.cut.clear();
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.broken = Some(self.at);
                    return;
                }
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => self.at += bytes.len() as u64,
            Err(error) => {
                self.at += error.valid_up_to() as u64;
                match error.error_len() {
                    None => self.cut.extend_from_slice(&bytes[error.valid_up_to()..]),
                    Some(_) => self.broken = Some(self.at),
                }
            }
        }
    }

    /// The first byte that is not UTF-8, once everything went by.
    pub fn end(&self) -> Option<u64> {
        self.broken.or((!self.cut.is_empty()).then_some(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_std_however_it_is_cut(pieces in proptest::collection::vec(
            prop_oneof![Just("a".as_bytes()), Just("é".as_bytes()), Just("€".as_bytes()), Just("😀".as_bytes()), Just(&[0xff][..]),
                        Just(&[0xe2, 0x82][..]), Just(&[0xf0, 0x9f][..])], 0..8),
            size in 1_usize..5) {
            let text = pieces.concat();
            let mut check = Utf8Check::default();
            text.chunks(size).for_each(|chunk| check.feed(chunk));
            let expected = std::str::from_utf8(&text).err().map(|error| error.valid_up_to() as u64);
            prop_assert_eq!(check.end(), expected);
        }
    }
}
