//! A range of lines as agents write it, and the same as places in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::fs;

use super::tail::from_end;

/// `[start, end]`: from 1, end exclusive, negative from the end, 0 open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LineRange(pub [i64; 2]);

/// Where a range begins or ends. Places that count from the end of the file are found before it is read, as offsets: so a file
/// is read whole only once, whatever the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The beginning of the line with this number, counted from 1.
    Line(u64),
    /// The beginning of the line at this byte.
    Offset(u64),
}

/// A range in a file of which the size is known and the lines are not.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    start: Bound,
    /// `None` is the end of the file.
    end: Option<Bound>,
}

impl LineRange {
    /// Everything.
    pub const ALL: LineRange = LineRange([1, 0]);

    /// Finds the places that count from the end. `read` reads so many bytes at an offset.
    pub fn resolve(self, size: u64, mut read: impl FnMut(u64, usize) -> fs::Result<Vec<u8>>) -> fs::Result<Bounds> {
        let [start, end] = self.0;
        let mut bound = |number: i64| -> fs::Result<Bound> {
            match number {
                0.. => Ok(Bound::Line(number.unsigned_abs())),
                _ => Ok(Bound::Offset(from_end(size, number.unsigned_abs(), &mut read)?.offset)),
            }
        };
        let start = if start == 0 { Bound::Line(1) } else { bound(start)? };
        let end = if end == 0 { None } else { Some(bound(end)?) };
        Ok(Bounds { start, end })
    }
}

impl Bound {
    /// Whether the line `line`, which begins at `offset`, is this one or behind it.
    pub fn is_reached(self, line: u64, offset: u64) -> bool {
        match self {
            Bound::Line(number) => line >= number,
            Bound::Offset(at) => offset >= at,
        }
    }
}

impl Bounds {
    /// Whether the line `line`, which begins at `offset`, is in the range.
    pub fn hold(&self, line: u64, offset: u64) -> bool {
        self.start.is_reached(line, offset) && !self.end.is_some_and(|end| end.is_reached(line, offset))
    }

    /// Whether nothing from this line on is in the range.
    pub fn are_over(&self, line: u64, offset: u64) -> bool {
        self.end.is_some_and(|end| end.is_reached(line, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a range, by their numbers.
    fn chosen(text: &str, range: [i64; 2]) -> Vec<u64> {
        let bytes = text.as_bytes();
        let read = |offset: u64, len: usize| Ok(bytes[offset as usize..].iter().take(len).copied().collect());
        let bounds = LineRange(range).resolve(bytes.len() as u64, read).unwrap();
        let mut offset = 0;
        let lines = text.split_inclusive('\n').enumerate().map(|(index, line)| {
            offset += line.len() as u64;
            (index as u64 + 1, offset - line.len() as u64)
        });
        lines.filter(|(line, offset)| bounds.hold(*line, *offset)).map(|(line, _)| line).collect()
    }

    #[test]
    fn mcp_040_041_042_ranges() {
        for text in ["a\nb\nc\nd\n", "a\nb\nc\nd"] {
            let table: [([i64; 2], &[u64]); 18] = [
                ([1, 2], &[1]),
                ([1, 3], &[1, 2]),
                ([1, 0], &[1, 2, 3, 4]),
                ([0, 0], &[1, 2, 3, 4]),
                ([0, 2], &[1]),
                ([3, 0], &[3, 4]),
                ([-1, 0], &[4]),
                ([-2, 0], &[3, 4]),
                ([-3, 0], &[2, 3, 4]),
                ([1, -1], &[1, 2, 3]),
                ([-3, -1], &[2, 3]),
                ([-99, -1], &[1, 2, 3]),
                ([2, 99], &[2, 3, 4]),
                ([5, 0], &[]),
                ([3, 3], &[]),
                ([3, 2], &[]),
                ([1, -4], &[]),
                ([-99, -99], &[]),
            ];
            for (range, expected) in table {
                assert_eq!(chosen(text, range), expected, "{range:?} of {text:?}");
            }
        }
        assert_eq!(chosen("", [1, 0]), [] as [u64; 0]);
        assert_eq!(chosen("", [-1, 0]), [] as [u64; 0]);
        assert_eq!(chosen("\n\n", [-1, 0]), [2]);
    }
}
