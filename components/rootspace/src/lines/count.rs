//! How many lines went by.

use memchr::memchr_iter;

use super::LF;

/// Counts the lines of a text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Count {
    ended: u64,
    open: bool,
}

impl Count {
    /// Takes the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.ended += memchr_iter(LF, bytes).count() as u64;
            self.open = *last != LF;
        }
    }

    /// The lines so far.
    pub fn total(&self) -> u64 {
        self.ended + u64::from(self.open)
    }

    /// Whether the last line has no line end yet.
    pub fn is_open(&self) -> bool {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_final_line_end_begins_no_line() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\n\n", 2), ("a\r\nb\r\n", 2)] {
            for cut in 0..=text.len() {
                let mut count = Count::default();
                count.feed(&text.as_bytes()[..cut]);
                count.feed(&text.as_bytes()[cut..]);
                assert_eq!(count.total(), lines, "{text:?} cut at {cut}");
            }
        }
    }
}
