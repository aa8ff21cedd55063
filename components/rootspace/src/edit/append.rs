//! Text at the end of a file, byte for byte.

use super::{Edit, Output, Problem};
use crate::lines::Count;

/// The text to add.
pub struct Append {
    content: Vec<u8>,
    lines: Count,
}

impl Append {
    pub fn new(content: impl Into<Vec<u8>>) -> Append {
        Append { content: content.into(), lines: Count::default() }
    }

    /// The line that the text continues, if the old file did not end in a line end. Known once the file went by.
    pub fn continued_line(&self) -> Option<u64> {
        (self.lines.is_open() && !self.content.is_empty()).then(|| self.lines.total())
    }
}

impl Edit for Append {
    fn feed(&mut self, chunk: &[u8], output: &mut Output<'_>) -> Result<(), Problem> {
        self.lines.feed(chunk);
        output.put(chunk);
        Ok(())
    }

    fn finish(&mut self, output: &mut Output<'_>) -> Result<(), Problem> {
        output.put(&self.content);
        Ok(())
    }
}
