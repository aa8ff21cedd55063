//! `text.read`: lines of a file, and the hash of all of it.

use memchr::memchr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zipfs_sdk::path::PathArgument;
use zipfs_sdk::{Error, Tool};

use crate::digest::Hash;
use crate::edit::Problem;
use crate::lines::{Bounds, LF, LineRange, Utf8Check};
use crate::place::Place;

const DESCRIPTION: &str = "\
Reads a text file, or a range of its lines. lines is [start, end]: from 1, end exclusive, negative from the end, 0 open ([1, 0] is \
everything, [-2, 0] the last two lines). Returns content (the lines with their line ends), hash (of the whole file, for the next \
edit) and total_lines.";

/// The most that comes back, as JSON, where a line end takes two characters and a control character six. The answer doubles its
/// memory as it is made, so in an instance of 64 MiB this much is safe; clients show less. Test: `mcp_012_a_read_has_a_limit`.
pub const MOST_CONTENT: u64 = 8 << 20;

pub fn tool() -> Tool {
    Tool::new("text.read", DESCRIPTION, read)
        .title("Read text")
        .reads()
        .meta(|| serde_json::json!({ "anthropic/maxResultSizeChars": 500_000 }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, from the root: '/notes/a.md'.
    path: PathArgument,
    /// Which lines; all without it.
    lines: Option<LineRange>,
}

#[derive(Serialize, JsonSchema)]
struct Contents {
    content: String,
    /// SHA-256 of the whole file.
    hash: String,
    /// How many lines the whole file has.
    total_lines: u64,
}

fn read(arguments: Arguments) -> Result<Contents, Error> {
    let place = Place::find(&arguments.path, true)?;
    let (file, size) = place.open()?;
    let range = arguments.lines.unwrap_or(LineRange::ALL);
    let bounds = range.resolve(size, |offset, len| file.read_at(offset, len)).map_err(|error| place.failed(error))?;
    let (mut hasher, mut utf8, mut chosen) = (Sha256::new(), Utf8Check::default(), Chosen::new(bounds));
    loop {
        let chunk = file.read_chunk(chosen.at, usize::MAX).map_err(|error| place.failed(error))?;
        if chunk.is_empty() {
            break;
        }
        hasher.update(&chunk);
        utf8.feed(&chunk);
        chosen.feed(&chunk);
    }
    if let Some(at) = utf8.end() {
        return Err(place.explain(Problem::NotText { at }, range, &file));
    }
    let (total_lines, fits) = (chosen.total(), chosen.fits());
    if let Some((first, last)) = fits {
        let message = format!("These lines are more than {MOST_CONTENT} bytes as JSON. The file has {total_lines} lines.");
        let next = match last > first {
            true => format!("Read in parts. Lines [{first}, {last}] fit."),
            false => "Read other lines: this one alone is too long.".to_owned(),
        };
        return Err(Error::limit("TOO_LARGE", message).suggest(next));
    }
    let content = String::from_utf8(chosen.content)
        .map_err(|_| Error::internal("INTERNAL_ERROR", "Whole lines of a text stopped being text."))?;
    Ok(Contents { content, hash: Hash::end(hasher).to_hex(), total_lines })
}

/// The lines of a range, collected as the file goes by.
struct Chosen {
    bounds: Bounds,
    content: Vec<u8>,
    weight: u64,
    first: u64,
    /// The first line that did not fit.
    full_at: Option<u64>,
    taking: bool,
    line: u64,
    line_start: u64,
    at: u64,
}

impl Chosen {
    fn new(bounds: Bounds) -> Chosen {
        Chosen { bounds, content: Vec::new(), weight: 0, first: 0, full_at: None, taking: false, line: 1, line_start: 0, at: 0 }
    }

    fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() {
            if self.at == self.line_start {
                self.taking = self.bounds.hold(self.line, self.line_start);
                if self.taking && self.first == 0 {
                    self.first = self.line;
                }
            }
            let end = memchr(LF, rest).map_or(rest.len(), |at| at + 1);
            if self.taking && self.full_at.is_none() {
                self.take(&rest[..end]);
            }
            self.at += end as u64;
            if rest[end - 1] == LF {
                (self.line, self.line_start) = (self.line + 1, self.at);
            }
            rest = &rest[end..];
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.weight += bytes.iter().map(|byte| weigh(*byte)).sum::<u64>();
        if self.weight > MOST_CONTENT {
            self.full_at = Some(self.line);
            self.content = Vec::new();
        } else {
            self.content.extend_from_slice(bytes);
        }
    }

    fn total(&self) -> u64 {
        self.line - u64::from(self.at == self.line_start)
    }

    /// If it was too much: a range that fits.
    fn fits(&self) -> Option<(u64, u64)> {
        self.full_at.map(|full_at| (self.first, full_at))
    }
}

/// Characters of a byte in a JSON string.
fn weigh(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..0x20 => 6,
        _ => 1,
    }
}
