//! Whether the log is as it was written: every line in its place, none changed, missing, moved or cut off.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::head::{Head, ZEROS};
use super::line::digest;
use super::reading::{Lines, files, place_of};

/// What was found, and how far the log goes.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// Number of the first line that is kept.
    pub first: u64,
    /// Number and hash of the last one: note them elsewhere, and give them to `--head` the next time.
    pub last: u64,
    pub hash: String,
    pub lines: u64,
    pub findings: Vec<Finding>,
}

/// Something that is not as it was written.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: &'static str,
    pub file: String,
    /// Line of the file, from one.
    pub line: u64,
    pub message: String,
}

/// What is found in a log that was torn to pieces is cut here: the first findings say where.
const MOST_FINDINGS: usize = 100;

/// Reads the whole log. `noted` is a head from before, as number and hash.
pub fn verify(directory: &Path, noted: Option<(u64, &str)>) -> io::Result<Verdict> {
    let (found, damaged) = match Head::of_ambient(directory) {
        Ok(found) => (found, false),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => (None, true),
        Err(error) => return Err(error),
    };
    let files = files(directory)?;
    let mut seen =
        Seen { findings: Vec::new(), number: 0, hash: ZEROS.into(), lines: 0, retired: 0, first: 0, noted: noted.is_none() };
    for (position, (segment, path)) in files.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Lines that are added while we read are not looked at.
        let most = match &found {
            Some((head, length)) if head.segment == *segment => *length,
            _ => u64::MAX,
        };
        if position == 0 {
            (seen.first, seen.number) = (*segment, segment - 1);
        } else if seen.number + 1 < *segment {
            seen.missing(&name, 1, *segment);
        }
        for line in Lines::open(path, most)? {
            let (at, line) = line?;
            seen.look(&name, at, &line, position == 0 && at == 1);
            if let Some((number, hash)) = noted
                && seen.number == number
            {
                seen.noted = true;
                if seen.hash != hash {
                    seen.found("changed", &name, at, format!("Line {number} is not the one whose hash was noted."));
                }
            }
        }
    }
    seen.end(
        files.last().map_or("", |(_, path)| path.file_name().and_then(|name| name.to_str()).unwrap_or_default()),
        found.as_ref().map(|(head, _)| head),
        damaged,
    );
    if let (false, Some((number, _))) = (seen.noted, noted) {
        seen.found("missing", "", 0, format!("Line {number}, whose hash was noted, is not there."));
    }
    seen.findings.truncate(MOST_FINDINGS);
    Ok(Verdict { first: seen.first, last: seen.number, hash: seen.hash, lines: seen.lines, findings: seen.findings })
}

struct Seen {
    findings: Vec<Finding>,
    /// Number and hash of the last line that was one.
    number: u64,
    hash: String,
    lines: u64,
    /// The last line that was let go with its file, as the log itself says.
    retired: u64,
    first: u64,
    noted: bool,
}

impl Seen {
    fn look(&mut self, file: &str, at: u64, line: &[u8], opens: bool) {
        self.lines += 1;
        let Some((number, before)) = place_of(line) else {
            return self.found("broken", file, at, "This is not a line of an audit log.".into());
        };
        let expected = self.number + 1;
        // The first line of what is kept follows lines that are gone; what it says of them is taken.
        let follows = before == self.hash || (opens && number > 1);
        match () {
            () if number == expected && follows => {}
            () if number == expected => {
                let what = match number {
                    1 => "The first line does not begin the chain.".into(),
                    _ => format!("Line {} was changed after it was written: line {number} has another hash of it.", expected - 1),
                };
                let (changed, at) = if at > 1 { (file, at - 1) } else { (file, at) };
                self.found("changed", changed, at, what);
            }
            () if number > expected => self.missing(file, at, number),
            () => self.found("reordered", file, at, format!("Line {number} stands where line {expected} should be.")),
        }
        if let Ok(value) = serde_json::from_slice::<Value>(line)
            && value["kind"] == "log"
            && value["tool_name"] == "retired"
        {
            self.retired = value["details"]["through"].as_u64().unwrap_or(self.retired);
        }
        self.number = number;
        self.hash = digest(line);
    }

    fn missing(&mut self, file: &str, at: u64, next: u64) {
        let (from, through) = (self.number + 1, next - 1);
        let what = match from == through {
            true => format!("Line {from} is missing."),
            false => format!("Lines {from} to {through} are missing."),
        };
        self.found("missing", file, at, what);
        self.number = through;
    }

    fn end(&mut self, file: &str, head: Option<&Head>, damaged: bool) {
        if self.first > 1 && self.retired + 1 != self.first {
            let what = format!("The log begins with line {}, but only lines up to {} were let go.", self.first, self.retired);
            self.found("missing", file, 0, what);
        }
        match head {
            None if damaged => {
                self.found("broken", super::head::NAME, 1, "The head is not readable, so lines could be missing at the end.".into())
            }
            None if self.lines > 0 => {
                self.found("missing", super::head::NAME, 0, "The head is missing, so lines could be missing at the end.".into())
            }
            None => {}
            Some(head) if head.number > self.number => {
                let what = format!("The log ends with line {}, but {} were written.", self.number, head.number);
                self.found("truncated", file, self.lines, what);
            }
            Some(head) if head.number == self.number && head.hash != self.hash => {
                self.found(
                    "changed",
                    file,
                    self.lines,
                    format!("Line {}, the last one, was changed after it was written.", self.number),
                );
            }
            Some(_) => {}
        }
    }

    fn found(&mut self, kind: &'static str, file: &str, line: u64, message: String) {
        if self.findings.len() <= MOST_FINDINGS {
            self.findings.push(Finding { kind, file: file.to_owned(), line, message });
        }
    }
}
