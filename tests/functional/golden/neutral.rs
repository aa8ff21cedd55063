//! Answers without what differs from run to run: ids, times, places, process numbers.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// The ids that were seen, in the order in which they appeared.
#[derive(Default)]
pub struct Names {
    ids: Vec<String>,
}

impl Names {
    /// Puts words in the place of what differs. `places` are directories with their words.
    pub fn neutral(&mut self, text: &str, places: &[(&Path, &str)]) -> String {
        let mut text = text.to_owned();
        for (place, word) in places {
            text = text.replace(place.to_str().expect("text"), word);
        }
        text = replace_shapes(&text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", |id| {
            let number = self.ids.iter().position(|seen| seen == id).unwrap_or_else(|| {
                self.ids.push(id.to_owned());
                self.ids.len() - 1
            });
            Some(format!("<id-{}>", number + 1))
        });
        text = replace_shapes(&text, "0000-00-00T00:00:00Z", |time| is_recent(time).then(|| "<now>".to_owned()));
        for digits in (1..=7).rev() {
            text = replace_shapes(&text, &format!("process {}", "0".repeat(digits)), |_| Some("process <pid>".to_owned()));
        }
        // What the process is called is in brackets behind its number.
        const NUMBERED: &str = "process <pid> (";
        if let Some((before, after)) = text.split_once(NUMBERED)
            && let Some((_, after)) = after.split_once(')')
        {
            text = format!("{before}{NUMBERED}<command>){after}");
        }
        text
    }

    /// The other way round, for arguments; `<id-1:8>` is the beginning of an id.
    pub fn put_back(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, id) in self.ids.iter().enumerate() {
            text = text.replace(&format!("<id-{}>", number + 1), id).replace(&format!("<id-{}:8>", number + 1), &id[..8]);
        }
        text
    }
}

/// Replaces every run of characters of this shape: `x` is a hexadecimal digit, `0` a decimal one, the rest is literal.
fn replace_shapes(text: &str, shape: &str, mut word: impl FnMut(&str) -> Option<String>) -> String {
    let fits = |candidate: &str| {
        candidate.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
            b'x' => byte.is_ascii_hexdigit(),
            b'0' => byte.is_ascii_digit(),
            literal => byte == literal,
        })
    };
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let candidate = rest.get(..shape.len()).filter(|candidate| fits(candidate));
        match candidate.and_then(|found| Some((found, word(found)?))) {
            Some((found, word)) => {
                replaced.push_str(&word);
                rest = &rest[found.len()..];
            }
            None => {
                replaced.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    replaced
}

/// Whether a time can come from this run of the tests. Times of archives are older.
fn is_recent(time: &str) -> bool {
    let Ok(time) = time.parse::<jiff::Timestamp>() else { return false };
    SystemTime::now().duration_since(SystemTime::from(time)).is_ok_and(|age| age < Duration::from_secs(3600))
}
