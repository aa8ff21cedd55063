//! Sizes as people write and read them.

/// Bytes, with a unit from a kibibyte on.
pub fn for_people(bytes: u64) -> String {
    let mut unit = 0;
    let mut size = bytes as f64;
    while size >= 1023.95 && unit < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    match unit {
        0 if bytes == 1 => "1 byte".to_owned(),
        0 => format!("{bytes} bytes"),
        unit => format!("{size:.1} {}iB", UNITS[unit - 1]),
    }
}

/// A number of bytes, or one with `K`, `M`, `G` or `T` behind it for powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let (digits, power) = match text.char_indices().last() {
        Some((at, last)) => match UNITS.iter().position(|unit| unit.eq_ignore_ascii_case(&last.to_string())) {
            Some(unit) => (&text[..at], unit as u32 + 1),
            None => (text, 0),
        },
        None => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes, such as 1048576 or 512M".to_owned())?;
    number.checked_mul(1 << (10 * power)).ok_or_else(|| "too large".to_owned())
}

const UNITS: [&str; 4] = ["K", "M", "G", "T"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("1048576"), Ok(1 << 20));
        assert_eq!(parse("512M"), Ok(512 << 20));
        assert_eq!(parse("2g"), Ok(2 << 30));
        for bad in ["", "M", "-1", "1.5G", "10 M", "99999999999T", "1MiB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_shown() {
        assert_eq!(for_people(1), "1 byte");
        assert_eq!(for_people(1023), "1023 bytes");
        assert_eq!(for_people(1024), "1.0 KiB");
        assert_eq!(for_people((1 << 20) - 1), "1.0 MiB");
        assert_eq!(for_people(3 << 30), "3.0 GiB");
    }
}
