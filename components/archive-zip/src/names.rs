//! Entry names: from raw bytes to a path in the workspace, or a refusal. Every name passes here before anything is written.

use std::borrow::Cow;

use crate::ambiguity::Ambiguity;
use crate::contract::Error;
use crate::crc::crc32;
use crate::extra::Facts;
use crate::failure::{ambiguous, invalid, quoted, traversal, unholdable};
use crate::oddities::Oddities;

/// The longest name of a file on every filesystem we extract to. Test: `names_that_no_filesystem_holds`.
const MAX_COMPONENT: usize = 255;
/// PATH_MAX of Linux; longer paths cannot be opened in one call. Test: `names_that_no_filesystem_holds`.
const MAX_PATH: usize = 4096;
/// Deeper trees exhaust the stack or the handles of programs that walk them. Test: `names_that_no_filesystem_holds`.
const MAX_DEPTH: usize = 255;

/// A name that was found good.
#[derive(Debug, PartialEq)]
pub struct Name {
    /// Relative, with `/`, without one at the end.
    pub path: String,
    /// It ended in `/`.
    pub is_directory: bool,
    pub oddities: Oddities,
}

/// Reads and judges a name. `is_utf8` is the entry's flag; `facts` may hold a Unicode name of its own.
pub fn read_name(raw: &[u8], is_utf8: bool, facts: &Facts) -> Result<Name, Error> {
    if facts.unicode_path_differs {
        return Err(ambiguous(Ambiguity::Name, format!("entry {} has two Unicode names", quoted(raw))));
    }
    let mut oddities = Oddities::default();
    let plain = decode(raw, is_utf8)?;
    let chosen = match facts.unicode_path.map(|body| unicode_path(body, raw)) {
        None => plain,
        Some(UnicodePath::Stale) => {
            oddities.add(Oddities::STALE_UNICODE_NAME);
            plain
        }
        Some(UnicodePath::Name(name)) if is_utf8 && name != plain => {
            let other = quoted(name.as_bytes());
            return Err(ambiguous(
                Ambiguity::Name,
                format!("entry {} has a different name {other} in its extra field", quoted(raw)),
            ));
        }
        Some(UnicodePath::Name(name)) => {
            // A reader that does not know the field sees the other name: that one may not lead outside either.
            judge(&plain, &mut Oddities::default())?;
            if plain.ends_with('/') != name.ends_with('/') {
                let what = format!("entry {} is a directory by one of its names and a file by the other", quoted(raw));
                return Err(ambiguous(Ambiguity::Kind, what));
            }
            name
        }
        Some(UnicodePath::Broken) => {
            return Err(ambiguous(Ambiguity::Name, format!("the Unicode name of entry {} is not UTF-8", quoted(raw))));
        }
    };
    let (path, is_directory) = judge(&chosen, &mut oddities)?;
    Ok(Name { path: path.to_owned(), is_directory, oddities })
}

/// By the flag it must be UTF-8; without the flag it may be, since many writers forget the flag; else it is what DOS meant.
fn decode(raw: &[u8], is_utf8: bool) -> Result<Cow<'_, str>, Error> {
    match std::str::from_utf8(raw) {
        Ok(text) => Ok(text.into()),
        Err(_) if is_utf8 => Err(ambiguous(Ambiguity::Name, format!("entry {} is marked as UTF-8 and is not", quoted(raw)))),
        Err(_) => Ok(raw.iter().map(|&byte| cp437(byte)).collect()),
    }
}

enum UnicodePath<'a> {
    Name(Cow<'a, str>),
    /// Made for a name that the entry no longer has: to be ignored by the format's own rule.
    Stale,
    Broken,
}

fn unicode_path<'a>(body: &'a [u8], raw: &[u8]) -> UnicodePath<'a> {
    let Some((head, name)) = body.split_at_checked(5) else { return UnicodePath::Stale };
    if head[0] != 1 || head[1..5] != crc32(raw).to_le_bytes() {
        return UnicodePath::Stale;
    }
    match std::str::from_utf8(name) {
        // WinZip separates by backslashes here and by slashes in the name proper.
        Ok(name) if !raw.contains(&b'\\') && !name.contains('/') && count(name.as_bytes(), b'\\') == count(raw, b'/') => {
            UnicodePath::Name(name.replace('\\', "/").into())
        }
        Ok(name) => UnicodePath::Name(name.into()),
        Err(_) => UnicodePath::Broken,
    }
}

fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().filter(|&&byte| byte == wanted).count()
}

/// The path that a name stands for, and whether it is a directory's.
fn judge<'a>(name: &'a str, oddities: &mut Oddities) -> Result<(&'a str, bool), Error> {
    let bytes = name.as_bytes();
    let refuse = |why: &str| Err(traversal(format!("entry {} {why}", quoted(bytes))));
    if bytes.is_empty() {
        return Err(invalid("an entry has no name"));
    }
    if bytes.iter().any(|byte| byte.is_ascii_control()) {
        return refuse(&Ambiguity::SpecialBytes.says("has a control character in its name, which could hide where it leads"));
    }
    // `tar`-like writers start every name with `./`; further down it would be a second spelling of another entry's name. It must not
    // hide what comes behind it: what is extracted is the name without it.
    let path = name.strip_prefix("./").unwrap_or(name);
    if bytes[0] == b'/' || path.starts_with('\\') {
        return refuse("has an absolute path");
    }
    if let [drive, b':', ..] = path.as_bytes()
        && drive.is_ascii_alphabetic()
    {
        return refuse("starts with a drive letter");
    }
    if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(|component| component == b"..") {
        return refuse("has a `..` in its path");
    }
    if bytes.contains(&b'\\') {
        oddities.add(Oddities::BACKSLASH);
    }

    let (path, is_directory) = path.strip_suffix('/').map_or((path, false), |path| (path, true));
    let mut depth = 0;
    for component in path.split('/') {
        if matches!(component, "" | ".") {
            let what = format!("entry {} has an empty or `.` component, so its path can be read in two ways", quoted(bytes));
            return Err(ambiguous(Ambiguity::Spelling, what));
        }
        if component.len() > MAX_COMPONENT {
            return Err(unholdable(format!("entry {} has a component of more than {MAX_COMPONENT} bytes", quoted(bytes))));
        }
        if is_reserved_by_windows(component) {
            oddities.add(Oddities::WINDOWS_NAME);
        }
        depth += 1;
    }
    if path.len() > MAX_PATH || depth > MAX_DEPTH {
        return Err(unholdable(format!(
            "entry {} is longer than {MAX_PATH} bytes or deeper than {MAX_DEPTH} levels",
            quoted(bytes)
        )));
    }
    Ok((path, is_directory))
}

fn is_reserved_by_windows(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or_default().as_bytes();
    match stem.len() {
        3 => [b"con", b"prn", b"aux", b"nul"].iter().any(|reserved| stem.eq_ignore_ascii_case(*reserved)),
        4 => [b"com", b"lpt"].iter().any(|port| stem[..3].eq_ignore_ascii_case(*port)) && (b'1'..=b'9').contains(&stem[3]),
        _ => false,
    }
}

/// DOS code page 437. Below 0x80 it is ASCII; its pictures for control characters do not matter, since those are refused.
fn cp437(byte: u8) -> char {
    const UPPER: [char; 128] = [
        'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', 'É', 'æ', 'Æ', 'ô', 'ö', 'ò', 'û', 'ù',
        'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', 'á', 'í', 'ó', 'ú', 'ñ', 'Ñ', 'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡', '«', '»',
        '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕', '╣', '║', '╗', '╝', '╜', '╛', '┐', '└', '┴', '┬', '├', '─', '┼', '╞', '╟',
        '╚', '╔', '╩', '╦', '╠', '═', '╬', '╧', '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐', '▀',
        'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩', '≡', '±', '≥', '≤', '⌠', '⌡', '÷', '≈',
        '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{a0}',
    ];
    if byte < 0x80 { char::from(byte) } else { UPPER[usize::from(byte - 0x80)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(raw: &[u8]) -> Result<Name, Error> {
        read_name(raw, false, &Facts::default())
    }

    fn code(raw: &[u8]) -> String {
        read(raw).unwrap_err().code
    }

    fn unicode(raw: &[u8], name: &[u8]) -> Vec<u8> {
        [&[1], &crc32(raw).to_le_bytes()[..], name].concat()
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        for raw in [
            "..",
            "../x",
            "a/../x",
            "a/..",
            "./../x",
            "/x",
            "//x",
            "/",
            "\\x",
            "..\\x",
            "a\\..\\x",
            "a/..\\x",
            "..\\/hello",
            "\\\\srv\\x",
            "./\\x",
            "./C:x",
            "C:x",
            "C:\\x",
            "c:/x",
            "a\0b",
            "\0",
            "a\nb",
            "a\x7f",
            "\x1b[2J",
        ] {
            assert_eq!(code(raw.as_bytes()), "PATH_TRAVERSAL", "{raw:?}");
        }
    }

    #[test]
    fn names_with_two_spellings_or_none_are_invalid() {
        for raw in ["", "a//b", "a/./b", "a/.", ".", "./", "././a", "a//", ".//a"] {
            assert_eq!(code(raw.as_bytes()), "ZIP_INVALID", "{raw:?}");
        }
    }

    #[test]
    fn names_that_only_look_odd_are_kept_to_the_letter() {
        for raw in [
            "..data",
            "a..b",
            "...",
            " a ",
            "a b/c",
            "-rf",
            "~/x",
            "$HOME/x",
            "%2e%2e/x",
            "ab:c",
            "ä/ö",
            "\u{202e}x",
            "..\u{200b}/x",
        ] {
            assert_eq!(read(raw.as_bytes()).unwrap().path, raw);
        }
        assert_eq!(read(b"./a/b").unwrap().path, "a/b");
        assert_eq!(read(b"d/e/").unwrap(), Name { path: "d/e".into(), is_directory: true, oddities: Oddities::default() });
    }

    #[test]
    fn a_backslash_is_a_character_with_a_warning() {
        let name = read(b"a\\b").unwrap();
        assert_eq!((name.path.as_str(), name.oddities), ("a\\b", Oddities::BACKSLASH));
        assert_eq!(read(b"x/NUL.txt").unwrap().oddities, Oddities::WINDOWS_NAME);
        assert_eq!(read(b"com1").unwrap().oddities, Oddities::WINDOWS_NAME);
        assert_eq!(read(b"null/com0/com").unwrap().oddities, Oddities::default());
    }

    #[test]
    fn names_that_no_filesystem_holds() {
        let deep = |levels: usize| vec!["d"; levels].join("/");
        assert!(read(&[b'x'; 255]).is_ok());
        assert!(read(deep(255).as_bytes()).is_ok());
        let long = vec!["x".repeat(200); 21].join("/");
        for name in ["x".repeat(256), deep(256), long] {
            let error = read(name.as_bytes()).unwrap_err();
            assert_eq!((error.code.as_str(), error.class), ("ZIP_INVALID", crate::contract::ErrorClass::Limit));
        }
    }

    #[test]
    fn bytes_become_text_by_flag_then_utf8_then_cp437() {
        assert_eq!(read("ü".as_bytes()).unwrap().path, "ü");
        assert_eq!(read(b"\x81ber\xe1").unwrap().path, "überß");
        assert_eq!(read_name(b"\x81", true, &Facts::default()).unwrap_err().code, "ZIP_INVALID");
    }

    #[test]
    fn a_unicode_name_is_used_ignored_or_refused() {
        let with = |raw: &[u8], flag, body: &[u8]| read_name(raw, flag, &Facts { unicode_path: Some(body), ..Facts::default() });
        assert_eq!(with(b"#U4f60", false, &unicode(b"#U4f60", "你".as_bytes())).unwrap().path, "你");
        assert_eq!(with(b"\x84/\x81", false, &unicode(b"\x84/\x81", "ä\\ü".as_bytes())).unwrap().path, "ä/ü");
        let stale = with(b"a", false, &unicode(b"b", b"c")).unwrap();
        assert_eq!((stale.path.as_str(), stale.oddities), ("a", Oddities::STALE_UNICODE_NAME));
        assert_eq!(with(b"a", true, &unicode(b"a", b"b")).unwrap_err().code, "ZIP_INVALID");
        assert_eq!(with(b"a", false, &unicode(b"a", b"\xff")).unwrap_err().code, "ZIP_INVALID");
        assert_eq!(with(b"a/", false, &unicode(b"a/", b"b")).unwrap_err().code, "ZIP_INVALID");
        assert_eq!(with(b"a", false, &unicode(b"a", b"../b")).unwrap_err().code, "PATH_TRAVERSAL");
        assert_eq!(with(b"../a", false, &unicode(b"../a", b"b")).unwrap_err().code, "PATH_TRAVERSAL");
    }

    proptest! {
        #[test]
        fn an_accepted_name_stays_inside(raw in proptest::collection::vec(prop_oneof![
            Just(b'.'), Just(b'/'), Just(b'\\'), Just(b'a'), Just(b':'), any::<u8>()
        ], 0..24)) {
            if let Ok(name) = read(&raw) {
                prop_assert!(!name.path.is_empty() && !name.path.starts_with('/') && !name.path.ends_with('/'));
                prop_assert!(name.path.split('/').all(|component| !matches!(component, "" | "." | "..")));
                prop_assert!(!name.path.contains('\0'));
            }
        }
    }
}
