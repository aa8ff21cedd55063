//! What a session may be called.

use crate::failure::Failure;

/// Accepts `[A-Za-z0-9_-]{1,64}` that cannot be taken for an id or the beginning of one.
///
/// Names become directory names and are looked up before ids, so a name such as `deadbeef` would hide a session whose id
/// begins that way.
pub fn check_name(name: &str) -> Result<(), Failure> {
    let refuse = |why: &str| {
        Err(Failure::invalid(format!("`name` is {name:?}, which {why}."))
            .suggest("Use 1 to 64 letters, digits, `_` or `-`, for example `q4-report`."))
    };
    if name.is_empty() || name.len() > 64 {
        return refuse("is empty or longer than 64 characters");
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return refuse("has characters other than letters, digits, `_` and `-`");
    }
    if could_begin_an_id(name) {
        return refuse("could be the beginning of a session id");
    }
    Ok(())
}

/// Whether some UUID starts with this text, taking only what lookups accept: four characters or more.
pub fn could_begin_an_id(text: &str) -> bool {
    (4..=36).contains(&text.len())
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_ids_are_refused() {
        for bad in ["", "a b", "ä", "a/b", "..", ".hidden", "deadbeef", "cafe", "0123", "deadbeef-cafe", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        for good in ["q4-report", "abc", "dead_beef", "deadbeefcafe", "x", &"x".repeat(64), "face-to-face"] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
    }
}
