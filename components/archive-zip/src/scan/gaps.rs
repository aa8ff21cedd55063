//! Bytes that belong to no entry. They are harmless unless a reader that walks through the file would find an entry in them.

use crate::bytes::{Bytes, MAX_READ, Window};
use crate::contract::Error;
use crate::fields::{LOCAL_LEN, LOCAL_SIGNATURE, flag, method, u16_at};

/// Whether something between `from` and `to` would be taken for an entry.
///
/// The four bytes of the signature alone are not enough: the program of a self-extractor has them too.
pub fn hide_an_entry<B: Bytes + ?Sized>(window: &mut Window<B>, from: u64, to: u64) -> Result<bool, Error> {
    let mut at = from;
    while to - at >= LOCAL_LEN as u64 {
        let len = (to - at).min(MAX_READ as u64) as usize;
        let piece = window.get(at, len)?;
        let found: Vec<(u64, u64)> = signatures(piece)
            .filter(|&found| looks_like_a_header(&piece[found..]))
            .map(|found| (at + found as u64, header_len(&piece[found..])))
            .collect();
        for (header_at, header_len) in found {
            if header_at + header_len <= to && has_a_name(window, header_at)? {
                return Ok(true);
            }
        }
        at += (len - LOCAL_LEN + 1) as u64;
    }
    Ok(false)
}

fn signatures(piece: &[u8]) -> impl Iterator<Item = usize> {
    let last = (piece.len() + 1).saturating_sub(LOCAL_LEN);
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(next) = piece[from..last].iter().position(|&byte| byte == LOCAL_SIGNATURE[0]) {
            from += next + 1;
            if piece[from - 1..].starts_with(&LOCAL_SIGNATURE) {
                return Some(from - 1);
            }
        }
        None
    })
}

fn looks_like_a_header(header: &[u8]) -> bool {
    let (version, flags, method) = (u16_at(header, 4), u16_at(header, 6), u16_at(header, 8));
    let known =
        flag::ENCRYPTED | 0b110 | flag::DESCRIPTOR | flag::PATCH | flag::STRONG_ENCRYPTION | flag::UTF8 | flag::MASKED_HEADERS;
    let known_method = method <= 20 || (93..=method::AES).contains(&method);
    version & 0xff <= 63 && flags & !known == 0 && known_method && u16_at(header, 26) > 0
}

fn header_len(header: &[u8]) -> u64 {
    (LOCAL_LEN + usize::from(u16_at(header, 26)) + usize::from(u16_at(header, 28))) as u64
}

fn has_a_name<B: Bytes + ?Sized>(window: &mut Window<B>, header_at: u64) -> Result<bool, Error> {
    let name_len = usize::from(u16_at(window.get(header_at, LOCAL_LEN)?, 26));
    let name = window.get(header_at + LOCAL_LEN as u64, name_len)?;
    Ok(!name.iter().any(|byte| byte.is_ascii_control()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u16, name: &[u8]) -> Vec<u8> {
        let mut header = LOCAL_SIGNATURE.to_vec();
        header.extend(version.to_le_bytes());
        header.resize(26, 0);
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0, 0]);
        header.extend(name);
        header
    }

    fn hides(bytes: &[u8]) -> bool {
        hide_an_entry(&mut Window::new(bytes), 0, bytes.len() as u64).unwrap()
    }

    #[test]
    fn an_entry_is_found_wherever_it_lies() {
        for padding in [0, 1, 1000, MAX_READ - 40, MAX_READ - 29, MAX_READ - 3, 2 * MAX_READ] {
            let mut bytes = vec![0; padding];
            bytes.extend(header(20, b"evil"));
            assert!(hides(&bytes), "{padding}");
        }
    }

    #[test]
    fn a_signature_in_a_program_is_no_entry() {
        assert!(!hides(b"PK\x03\x04"));
        assert!(!hides(&[LOCAL_SIGNATURE.to_vec(), vec![0x90; 100]].concat()));
        assert!(!hides(&header(20, b"")));
        assert!(!hides(&header(20, b"a\0b")));
        assert!(!hides(&header(2000, b"name")[..]));
        assert!(!hides(&header(20, b"name")[..32]));
    }
}
