//! The other rule for paths: `/` is the root of the workspace, and `..` is resolved as long as it stays inside.

use super::{MAX_COMPONENT, MAX_PATH, WorkspacePath, shown};
use crate::Error;

impl WorkspacePath {
    /// Checks a path that may begin with `/`, which is the root and not the host's, and may hold `..`.
    ///
    /// Empty and `.` components fall away, and `..` takes the component before it away. Nothing is decoded, nothing on disk is
    /// looked at: `a/../b` is `b`, whatever `a` is. Forbidden, with code `PATH_TRAVERSAL`: more `..` than there are components
    /// before them, control characters, and what another system would take for an absolute path (`C:\x`, `\\server\x`).
    ///
    /// ```
    /// use zipfs_sdk::path::WorkspacePath;
    ///
    /// assert_eq!(WorkspacePath::resolve("//notes/./../work/a.md").unwrap().as_str(), "work/a.md");
    /// assert_eq!(WorkspacePath::resolve("/../etc/passwd").unwrap_err().code(), "PATH_TRAVERSAL");
    /// ```
    pub fn resolve(path_raw: &str) -> Result<WorkspacePath, Error> {
        let refused = |reason: &str| {
            Error::forbidden("PATH_TRAVERSAL", format!("The path {} {reason}.", shown(path_raw)))
                .suggest("Give a path inside the root, with '/' between names: '/docs/a.txt'.")
        };
        if path_raw.chars().any(char::is_control) {
            return Err(refused("contains a control character"));
        }
        if path_raw.len() > MAX_PATH {
            return Err(Error::invalid("INVALID_PARAMS", format!("The path is longer than {MAX_PATH} bytes.")));
        }
        let mut components: Vec<&str> = Vec::new();
        for component in path_raw.split('/') {
            match component {
                "" | "." => {}
                ".." if components.pop().is_none() => return Err(refused("leads out of the root")),
                ".." => {}
                // `a\..\b` is one name here and a way out elsewhere.
                name if name.split('\\').any(|part| part == "..") => return Err(refused("contains '..' between backslashes")),
                name if name.len() > MAX_COMPONENT => {
                    let message = format!("A name in the path is longer than {MAX_COMPONENT} bytes.");
                    return Err(Error::invalid("INVALID_PARAMS", message));
                }
                name => components.push(name),
            }
        }
        // Looked at last: `/C:\x` is one as much as `C:\x`.
        let mut letters = components.first().map_or("", |first| *first).chars();
        match (letters.next(), letters.next()) {
            (Some('\\'), _) => Err(refused("is an absolute path of another system")),
            (Some(drive), Some(':')) if drive.is_ascii_alphabetic() => Err(refused("is an absolute path of another system")),
            _ => Ok(WorkspacePath(components.join("/"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_leading_slash_is_the_root_and_dots_are_resolved() {
        let table = [
            ("/", "."),
            ("", "."),
            ("..//", "!"),
            ("/notes/a.md", "notes/a.md"),
            ("notes/a.md", "notes/a.md"),
            ("//notes//a.md", "notes/a.md"),
            ("/notes/./a.md", "notes/a.md"),
            ("/notes/../work/a.md", "work/a.md"),
            ("notes/..", "."),
            ("/../etc/passwd", "!"),
            ("a/../../b", "!"),
            (r"C:\Users\file.txt", "!"),
            ("c:/x", "!"),
            (r"\\server\x", "!"),
            (r"\x", "!"),
            (r"/C:\x", "!"),
            (r"a/../\\b", "!"),
            (r"a\..\b", "!"),
            ("a\0b", "!"),
            ("..a/b..", "..a/b.."),
            ("%2e%2e/x", "%2e%2e/x"),
        ];
        for (given, expected) in table {
            let found = WorkspacePath::resolve(given).map_or("!".to_owned(), |path| path.as_str().to_owned());
            assert_eq!(found, expected, "{given:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_what_the_strict_rule_accepts(tokens in proptest::collection::vec(
            prop_oneof![Just("/"), Just("."), Just(".."), Just("a"), Just("\\"), Just("B"), Just(":"), Just("\0")], 0..14)) {
            let given = tokens.concat();
            if let Ok(path) = WorkspacePath::resolve(&given) {
                prop_assert_eq!(WorkspacePath::parse(path.as_str()).map(|path| path.to_string()), Ok(path.to_string()));
                prop_assert_eq!(WorkspacePath::resolve(path.as_str()).unwrap(), path);
            }
        }
    }
}
