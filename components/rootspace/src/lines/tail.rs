//! Lines that are counted from the end of a file, found from there: only its tail is read.

use memchr::memrchr_iter;
use zipfs_sdk::fs;

use super::LF;

/// Read at once. What one WASI read gives.
const CHUNK: u64 = 64 << 10;

/// What came of counting back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromEnd {
    /// Where the line begins; 0 if there are fewer lines.
    pub offset: u64,
    /// How many of the lines that were asked for there are.
    pub found: u64,
}

/// The beginning of the `count`-th line from the end of a file of `size` bytes, 1 being the last.
pub fn from_end(size: u64, count: u64, read: &mut impl FnMut(u64, usize) -> fs::Result<Vec<u8>>) -> fs::Result<FromEnd> {
    // The line end that closes the last line ends nothing before it.
    let mut end = size;
    let mut found = 0;
    let mut last = true;
    while end > 0 && count > 0 {
        let begin = end.saturating_sub(CHUNK);
        let chunk = read(begin, (end - begin) as usize)?;
        let closes = last && chunk.last() == Some(&LF);
        let searched = &chunk[..chunk.len() - usize::from(closes)];
        last = false;
        for at in memrchr_iter(LF, searched) {
            found += 1;
            if found == count {
                return Ok(FromEnd { offset: begin + at as u64 + 1, found });
            }
        }
        if chunk.is_empty() {
            break;
        }
        end = begin;
    }
    Ok(FromEnd { offset: 0, found: found + u64::from(size > 0 && count > 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_back_over_chunks_and_the_final_line_end() {
        let line = "x".repeat(40_000);
        for (text, ends) in [(format!("{line}\n{line}\n{line}\n"), true), (format!("{line}\n{line}\n{line}"), false)] {
            let bytes = text.as_bytes();
            let mut read = |offset: u64, len: usize| Ok(bytes[offset as usize..].iter().take(len).copied().collect());
            let size = bytes.len() as u64;
            let mut at = |count| from_end(size, count, &mut read).unwrap();
            assert_eq!(at(1), FromEnd { offset: 80_002, found: 1 }, "{ends}");
            assert_eq!(at(2), FromEnd { offset: 40_001, found: 2 });
            assert_eq!(at(3), FromEnd { offset: 0, found: 3 });
            assert_eq!(at(4), FromEnd { offset: 0, found: 3 });
        }
        let mut nothing = |_: u64, _: usize| Ok(Vec::new());
        assert_eq!(from_end(0, 1, &mut nothing).unwrap(), FromEnd { offset: 0, found: 0 });
    }
}
