//! Spans of time as people write them: Go's syntax, and days.

use std::time::Duration;

/// Units, each with its length in nanoseconds. Longer names first where one begins with another.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// Reads `24h`, `7d`, `1d12h`, `1.5h`, `0`. `None` if it is nothing of the kind, negative, or longer than five hundred years.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let (unit, length) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        total = total.checked_add(scaled(number, *length)?)?;
        rest = &after[unit.len()..];
    }
    let longest = 500 * 365 * 86_400 * 1_000_000_000;
    (!text.is_empty() && total <= longest).then(|| Duration::from_nanos_u128(total))
}

/// A decimal number of units, in nanoseconds.
fn scaled(number: &str, length: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 18 || fraction.len() > 18 || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let parts = digits(fraction)? * length / 10u128.pow(fraction.len() as u32);
    Some(digits(whole)? * length + parts)
}

/// A number of seconds in its largest unit: `3d`, `5h`, `2m`, `0s`.
pub fn brief(seconds: u64) -> String {
    match seconds {
        86_400.. => format!("{}d", seconds / 86_400),
        3_600.. => format!("{}h", seconds / 3_600),
        60.. => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let table = [
            ("24h", 86_400.0),
            ("7d", 604_800.0),
            ("1d12h", 129_600.0),
            ("1h30m", 5_400.0),
            ("1.5h", 5_400.0),
            (".5s", 0.5),
            ("300ms", 0.3),
            ("2m", 120.0),
            ("0", 0.0),
            ("0s", 0.0),
        ];
        for (text, seconds) in table {
            assert_eq!(parse(text).map(|span| span.as_secs_f64()), Some(seconds), "{text}");
        }
        for text in
            ["", "7", "d", "-1h", "+1h", "1w", "1 h", "h1", "1.2.3s", ".s", "99999999999999999999d", "900000d", "1e3s", "٣d"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!([0, 59, 61, 7_300, 300_000].map(brief), ["0s", "59s", "1m", "2h", "3d"]);
    }
}
