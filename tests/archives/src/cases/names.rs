//! What entries are called: names that lead outside, names with two meanings, names that clash, and names that only look odd.

use super::{Case, INVALID, TRAVERSAL, Verdict, add as put, archive, between, opens, plain, refused, warns};
use crate::made::{stored, unicode_name};

/// Names that lead outside, or hide that they do. Each is also used where the system calls are watched.
pub const OUTSIDE: [&str; 40] = [
    "..",
    "../x",
    "../../x",
    "../../../../../../../../../../../../tmp/zipfs-slip",
    "a/../x",
    "a/../../x",
    "a/..",
    "./../x",
    "../ws-evil/x",
    "/",
    "/x",
    "//x",
    "/tmp/zipfs-slip",
    "/etc/passwd",
    "/proc/self/cwd/x",
    "/proc/self/root/x",
    "/proc/self/fd/3",
    "\\x",
    "..\\x",
    "a\\..\\x",
    "a/..\\x",
    "..\\/x",
    "\\\\srv\\x",
    "\\\\?\\C:\\x",
    "./\\x",
    "./C:x",
    "C:x",
    "C:\\x",
    "c:/x",
    "Z:",
    "a\0b",
    "\0",
    "x\0",
    "../x\0.txt",
    "a\nb",
    "a\rb",
    "a\tb",
    "\x1b[2J",
    "a\x7f",
    "d/\x01/x",
];

/// Names that only look odd: they are kept to the letter.
const ODD: [&str; 29] = [
    "..data",
    "..foo/x",
    "...",
    "....",
    "a..b",
    ".hidden",
    " ",
    " a ",
    "a b/c d",
    "a.",
    "a /b",
    "-rf",
    "--help",
    "~/x",
    "$HOME/x",
    "%2e%2e/x",
    "..%2fx",
    "..%5cx",
    "%00",
    "ab:c",
    "ä/ö/ü",
    "日本語/テキスト",
    "\u{ff0e}\u{ff0e}/x",
    "\u{2025}/x",
    "a\u{2215}b",
    "a\u{ff0f}b",
    "\u{202e}txt.exe",
    "..\u{200b}/x",
    "{{7*7}}'\";`id`",
];

pub fn add(cases: &mut Vec<Case>) {
    for name in OUTSIDE {
        refused(cases, format!("leads outside: {name:?}"), archive([stored("fine", "1"), stored(name, "2")]), TRAVERSAL, "");
    }
    for name in ODD {
        opens(cases, format!("odd name: {name:?}"), archive([stored(name, "1")]));
    }
    for name in ["a//b", "a/./b", "a/.", ".", "./", "././a", "a//", ".//a"] {
        refused(cases, format!("two spellings: {name:?}"), archive([stored(name, "")]), INVALID, "B3");
    }
    refused(cases, "control character", archive([stored("a\x08b", "")]), TRAVERSAL, "B2");
    refused(cases, "no name", between(stored("", "")), INVALID, "no name");
    lengths(cases);
    alphabets(cases);
    clashes(cases);
}

fn lengths(cases: &mut Vec<Case>) {
    let deep = |levels: usize| vec!["d"; levels].join("/");
    opens(cases, "name of 255 bytes", archive([stored("x".repeat(255), "")]));
    opens(cases, "255 levels", archive([stored(deep(255), "")]));
    let mut long = |name: &str, path: String| refused(cases, name, archive([stored(path, "")]), INVALID, "entry \"");
    long("name of 256 bytes", "x".repeat(256));
    long("name of 65,535 bytes", "x".repeat(65_535));
    long("path of 4,200 bytes", vec!["x".repeat(200); 21].join("/"));
    long("path of 65,535 bytes", vec!["x".repeat(255); 256].join("/"));
    long("256 levels", deep(256));
    long("1,000 levels", deep(1000));
    long("32,768 levels", deep(32_768));
}

fn alphabets(cases: &mut Vec<Case>) {
    opens(cases, "named in code page 437", archive([stored(b"\x81ber\xe1", "")]));
    opens(cases, "named in Shift-JIS", archive([stored(b"\x93\xfa\x96\x7b", "")]));
    opens(cases, "lone surrogate", archive([stored(b"\xed\xa0\x80", "")]));
    opens(cases, "overlong dot in no alphabet", archive([stored(b"\xc0\xae\xc0\xae/x", "")]));
    let marked = |name: &[u8]| stored(name, "").both(|head| head.flags |= 1 << 11);
    opens(cases, "marked as UTF-8", archive([marked("ü".as_bytes())]));
    refused(cases, "marked as UTF-8 and not", archive([marked(b"\xff")]), INVALID, "A3");
    let named = |raw: &str, other: &str| stored(raw, "").both(|head| head.extra = unicode_name(raw.as_bytes(), other));
    opens(cases, "Unicode name", archive([named("a", "ä")]));
    refused(cases, "Unicode name leads outside", archive([named("a", "../b")]), TRAVERSAL, "");
    refused(cases, "Unicode name hides that it leads outside", archive([named("../a", "b")]), TRAVERSAL, "");
    refused(cases, "Unicode name of another kind", archive([named("d/", "d")]), INVALID, "A4");
    refused(cases, "Unicode name against the flag", archive([named("a", "b").both(|head| head.flags |= 1 << 11)]), INVALID, "A3");
    let local = plain().local(|head| head.extra = unicode_name(b"a", "b"));
    refused(cases, "Unicode name at the contents only", archive([local]), INVALID, "A3");
    let twice = [unicode_name(b"a", "b"), unicode_name(b"a", "c")].concat();
    refused(cases, "two Unicode names", archive([plain().both(|head| head.extra = twice.clone())]), INVALID, "A3");
    let stale = plain().both(|head| head.extra = unicode_name(b"other", "b"));
    warns(cases, "stale Unicode name", archive([stale]), "Unicode name made for another");
    warns(cases, "backslash", archive([stored("a\\b", "")]), "backslash");
    warns(cases, "name of a device of Windows", archive([stored("x/NUL.txt", "")]), "Windows");
}

fn clashes(cases: &mut Vec<Case>) {
    let pair = |a: &str, b: &str| archive([stored(a, "1"), stored("between", ""), stored(b, "")]);
    for (a, b) in [("a", "a"), ("d/a", "d/a"), ("a", "./a"), ("a", "a/b"), ("a/b/c", "a")] {
        let made = if a == "a/b/c" { archive([stored(b, ""), stored(a, "")]) } else { pair(a, b) };
        refused(cases, format!("clash of {a:?} and {b:?}"), made, INVALID, "B1");
    }
    refused(cases, "directory twice", archive([stored("d/", ""), stored("d/", "")]), INVALID, "B1");
    refused(cases, "directory and file of one name", archive([stored("d/", ""), stored("d", "x")]), INVALID, "B1");
    let twin = stored("é", "").both(|head| head.extra = unicode_name("é".as_bytes(), "x"));
    refused(cases, "duplicate by a Unicode name", archive([twin, stored("x", "")]), INVALID, "B1");
    warns(cases, "names that differ in case", pair("Readme", "README"), "B4");
    warns(cases, "names that differ in the encoding of an accent", pair("caf\u{e9}", "cafe\u{301}"), "B4");
    opens(cases, "names that are alike and not the same", pair("a/b", "a-b"));
    // Spaces and dots at the end are names of their own here, and on Windows they are not.
    opens(cases, "names that Windows would fold", pair("a", "a."));
    put(cases, "names of one thousand files", thousand(), Verdict::Opens);
}

fn thousand() -> Vec<u8> {
    archive((0..1000).map(|number| stored(format!("d{}/f{number}", number % 10), number.to_string()))).bytes()
}
