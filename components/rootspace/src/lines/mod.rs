//! What a line is, which lines a range means, and where lines are in a file that is only seen in pieces.
//!
//! A line ends at LF, and a final LF ends the last line without beginning another: `""` has no lines, `"a"` and `"a\n"` one,
//! `"a\n\n"` two. CR is a character like any other.

mod count;
mod finder;
mod range;
mod tail;
mod utf8;

pub use count::Count;
pub use finder::{Finder, Match, Near};
pub use range::{Bound, Bounds, LineRange};
pub use tail::{FromEnd, from_end};
pub use utf8::Utf8Check;

/// The end of a line.
pub const LF: u8 = b'\n';

/// A text argument that stands for whole lines, without the line end that may close it.
pub fn without_final_lf(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}
