//! The output, with small writes gathered and adjacent copies joined: what did not change becomes one call to the host.

use super::Output;
use crate::contract::Error;
use crate::failure::unwritable;

/// How much is gathered before the host is asked.
const GATHERED: usize = 256 << 10;
/// The most that is handed over at once, however much one write brings.
const MAX_APPEND: usize = 1 << 20;

pub struct Staging<'a, O: Output> {
    output: &'a mut O,
    position: u64,
    /// Bytes to append. Empty while a range is pending, so the order stays.
    gathered: Vec<u8>,
    range: Option<(&'a O::Source, u64, u64)>,
}

impl<'a, O: Output> Staging<'a, O> {
    pub fn new(output: &'a mut O) -> Self {
        Self { output, position: 0, gathered: Vec::new(), range: None }
    }

    /// How much was written so far, gathered and pending bytes included.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.flush_range()?;
        self.position += bytes.len() as u64;
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED { self.flush_gathered() } else { Ok(()) }
    }

    pub fn copy(&mut self, source: &'a O::Source, offset: u64, len: u64) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        self.flush_gathered()?;
        self.position += len;
        match &mut self.range {
            Some((from, start, pending)) if std::ptr::eq(*from, source) && *start + *pending == offset => *pending += len,
            _ => {
                self.flush_range()?;
                self.range = Some((source, offset, len));
            }
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<(), Error> {
        self.flush_range()?;
        self.flush_gathered()
    }

    fn flush_range(&mut self) -> Result<(), Error> {
        let Some((source, offset, len)) = self.range.take() else { return Ok(()) };
        self.output.append_from(source, offset, len).map_err(not_written)
    }

    fn flush_gathered(&mut self) -> Result<(), Error> {
        for piece in self.gathered.chunks(MAX_APPEND) {
            self.output.append(piece).map_err(not_written)?;
        }
        self.gathered.clear();
        Ok(())
    }
}

fn not_written(why: String) -> Error {
    unwritable(format!("the archive could not be written: {why}"))
}
