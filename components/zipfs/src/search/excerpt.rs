//! A line as it is shown: whole if it is short, and otherwise what is around the match.

/// The most that is shown of a line, in bytes. Minified code and data put a whole file on one line; an agent needs the place.
pub const MOST: usize = 1000;

/// How much of a long line is shown before the match.
const BEFORE: usize = 200;

/// The line as it is shown. Where in it the match is matters only if not all of it is.
pub fn around(line: &[u8], place: impl FnOnce(&[u8]) -> Option<usize>) -> String {
    let at = if line.len() > MOST { place(line) } else { None };
    of(line, at.unwrap_or(0))
}

/// The line without its end, cut around `at` if it is long. Cuts are marked with an ellipsis.
pub fn of(line: &[u8], at: usize) -> String {
    let line = without_end(line);
    if line.len() <= MOST {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = character_at(line, at.min(line.len()).saturating_sub(BEFORE));
    let end = character_at(line, (start + MOST).min(line.len()));
    let text = String::from_utf8_lossy(&line[start..end]);
    format!("{}{text}{}", if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" })
}

pub fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The first byte of a character at or shortly before `at`.
fn character_at(line: &[u8], at: usize) -> usize {
    let continues = |at: usize| line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|&at| !continues(at)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lines_stay_whole_and_long_ones_show_the_match() {
        assert_eq!(of(b"hello\r\n", 2), "hello");
        assert_eq!(of(b"caf\xe9", 0), "caf\u{fffd}");
        let line = format!("{}needle{}", "é".repeat(5000), "x".repeat(5000));
        let shown = of(line.as_bytes(), 10_000);
        assert!(shown.starts_with("…é") && shown.ends_with("x…") && shown.contains("éneedlex"), "{shown}");
        assert!(shown.len() <= MOST + 2 * "…".len() + 3);
        assert!(of(line.as_bytes(), 0).starts_with("éé"));
        assert!(of(line.as_bytes(), line.len()).ends_with('x'));
    }
}
