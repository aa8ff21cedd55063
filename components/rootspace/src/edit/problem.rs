//! Why an edit cannot be done, in words from which the one who asked can correct it.

use zipfs_sdk::{Error, fs};

use super::diff::shown_header;
use crate::lines::LineRange;

/// Places that are named before the rest is only counted.
pub const MOST_NAMED: usize = 10;

/// Bytes of a line that a message quotes.
const MOST_QUOTED: usize = 200;

/// What is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Byte `at` is not UTF-8.
    NotText { at: u64 },
    /// The range has no line in a file of so many.
    EmptyRange { total: u64 },
    /// The line there is not the one wanted.
    Differs { line: u64, start: u64, wanted: Vec<u8>, argument: &'static str },
    /// The file ended where this line was wanted.
    Ended { line: u64, wanted: Vec<u8>, argument: &'static str },
    /// What was looked for is there, but not in the range.
    Elsewhere { lines: Vec<u64>, more: u64 },
    /// It is there more than once.
    NotUnique { lines: Vec<u64>, more: u64 },
    /// There is no line to insert before.
    NoSuchLine { line: i64, total: u64 },
    /// The wanted line is there, and its line end is another than the patch says.
    LineEnd { line: u64, file_has_it: bool },
    /// A hunk begins behind the end of the file.
    HunkBehindEnd { header: (u64, u64), total: u64 },
}

/// Reads the beginning of a line, for a quotation: so many bytes at an offset.
pub type Excerpt<'a> = dyn FnMut(u64, usize) -> fs::Result<Vec<u8>> + 'a;

impl Problem {
    /// As an error. `range` is what the agent asked for, `path` the file.
    pub fn into_error(self, path: &str, range: LineRange, excerpt: &mut Excerpt<'_>) -> Error {
        let [start, end] = range.0;
        match self {
            Problem::NotText { at } => {
                Error::invalid("NOT_TEXT", format!("{path} is not UTF-8 text: byte {at} is no part of a character."))
                    .suggest("text.* works on text only. A binary file can be removed (file.remove) and made anew (file.create, encoding 'base64').")
            }
            Problem::EmptyRange { total: 0 } => Error::invalid("RANGE_EMPTY", format!("{path} is empty."))
                .suggest("Use text.append to write into it."),
            Problem::EmptyRange { total } => {
                Error::invalid("RANGE_EMPTY", format!("The range [{start}, {end}] holds no line of {path}, which has {total}."))
                    .suggest("The end is exclusive: [3, 4] is line 3 alone, [3, 0] everything from line 3 on, [1, 0] everything.")
            }
            Problem::Differs { line, start, wanted, argument } => {
                let found = excerpt(start, MOST_QUOTED + 1).unwrap_or_default();
                let ends = found.iter().position(|byte| *byte == b'\n');
                let found_line = &found[..ends.unwrap_or(found.len())];
                let code = mismatch_of(argument);
                let message = format!("Line {line} of {path} contains {}, not {}.", quoted(found_line), quoted(&wanted));
                let error = Error::conflict(code, message);
                if ends.is_some() && found_line.strip_suffix(b"\r") == Some(&wanted) {
                    return error.suggest(format!("The lines of this file end in \\r\\n: put \\r at the end of each line of `{argument}`."));
                }
                if trimmed(found_line) == trimmed(&wanted) {
                    return error.suggest("They differ in blanks only: give the line exactly as it is, indentation included.");
                }
                error.suggest(format!("Look at the file with text.read and give `{argument}` exactly as it is there, whole lines."))
            }
            Problem::Ended { line, wanted, argument } => Error::conflict(
                mismatch_of(argument),
                format!("{path} ends before line {line}, where {} should be.", quoted(&wanted)),
            )
            .suggest(format!("Look at the file with text.read and give `{argument}` exactly as it is there, whole lines.")),
            Problem::Elsewhere { lines, more } => {
                let first = lines.first().copied().unwrap_or(1);
                Error::conflict(
                    "TEXT_NOT_FOUND",
                    format!("`old` is not in the range [{start}, {end}] of {path}, but it is at line {}.", listed(&lines, more)),
                )
                .suggest(format!("Give a range that holds all of it, such as one that begins with {first}."))
            }
            Problem::NotUnique { lines, more } => Error::conflict(
                "TEXT_NOT_UNIQUE",
                format!("`old` is in the range [{start}, {end}] of {path} more than once: at lines {}.", listed(&lines, more)),
            )
            .suggest("Narrow `lines` to one of these places, or give more lines in `old` and `new`."),
            Problem::NoSuchLine { total: 0, .. } => {
                Error::invalid("LINE_OUT_OF_RANGE", format!("{path} is empty, so there is no line to insert before."))
                    .suggest("Use text.append.")
            }
            Problem::NoSuchLine { line, total } => {
                Error::invalid("LINE_OUT_OF_RANGE", format!("{path} has lines 1 to {total}, and no line {line} to insert before."))
                    .suggest("To add behind the last line use text.append.")
            }
            Problem::LineEnd { line, file_has_it: true } => Error::conflict(
                "PATCH_MISMATCH",
                format!("Line {line} of {path} ends in a newline, and the patch says that it does not."),
            )
            .suggest("Leave out '\\ No newline at end of file' behind this line."),
            Problem::LineEnd { line, file_has_it: false } => Error::conflict(
                "PATCH_MISMATCH",
                format!("Line {line}, the last of {path}, does not end in a newline, and the patch says that it does."),
            )
            .suggest("Put the line '\\ No newline at end of file' behind it in the patch."),
            Problem::HunkBehindEnd { header, total } => Error::conflict(
                "PATCH_MISMATCH",
                format!("The hunk {} begins behind the end of {path}, which has {total} lines.", shown_header(header)),
            )
            .suggest("Make the patch against the file as text.read shows it."),
        }
    }
}

/// The code for a line that is not what this argument says.
fn mismatch_of(argument: &str) -> &'static str {
    match argument {
        "anchor" => "ANCHOR_MISMATCH",
        "patch" => "PATCH_MISMATCH",
        _ => "TEXT_NOT_FOUND",
    }
}

/// A line in quotes, short, and without anything that a terminal would obey.
fn quoted(line: &[u8]) -> String {
    let head = &line[..line.len().min(MOST_QUOTED)];
    let text = String::from_utf8_lossy(head);
    let text = if head.len() < line.len() { text.trim_end_matches('\u{fffd}') } else { &*text };
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\'' => c.to_string(),
            _ => c.escape_debug().to_string(),
        })
        .collect();
    format!("\"{escaped}{}\"", if head.len() < line.len() { "…" } else { "" })
}

fn trimmed(line: &[u8]) -> Vec<u8> {
    line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

fn listed(lines: &[u64], more: u64) -> String {
    let named: Vec<String> = lines.iter().map(u64::to_string).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", named.join(", "))
}
