//! The rule for paths that agents send: relative, inside, and taken literally.
//!
//! Containment does not depend on it, since the runtime has no handle to anything outside. The rule exists so that an attempt is
//! named as one, and so that no path means two things on two systems.

mod rooted;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The longest name that common filesystems take, in bytes.
const MAX_COMPONENT: usize = 255;

/// The longest path that Linux takes, in bytes.
const MAX_PATH: usize = 4096;

/// A path as the agent sent it, not yet checked. Use it as the type of an argument: its schema carries `x-zipfs-path`, by which
/// the host knows which arguments are paths. The default is the root.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct PathArgument(String);

impl PathArgument {
    /// Checks the path, see [`WorkspacePath::parse`].
    pub fn check(&self) -> Result<WorkspacePath, Error> {
        WorkspacePath::parse(&self.0)
    }

    /// Checks the path by the rule under which `/` is the root and `..` is resolved, see [`WorkspacePath::resolve`].
    pub fn resolve(&self) -> Result<WorkspacePath, Error> {
        WorkspacePath::resolve(&self.0)
    }

    /// As the agent wrote it, for messages and results.
    pub fn as_given(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PathArgument {
    fn from(path: &str) -> PathArgument {
        PathArgument(path.to_owned())
    }
}

impl Default for PathArgument {
    fn default() -> PathArgument {
        PathArgument("/".to_owned())
    }
}

impl JsonSchema for PathArgument {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PathArgument".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-zipfs-path": true })
    }
}

/// A checked path inside the workspace: components joined by `/`, none of them empty, `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// Checks a path.
    ///
    /// `/`, `.` and the empty path are the root. Empty and `.` components fall away. Forbidden, with code `PATH_TRAVERSAL`: any
    /// other leading `/`, a `..` component, control characters, and what another system would take for an absolute path or
    /// for `..` (`C:x`, `\\server\x`, `a\..\b`). Otherwise a backslash is a character like any other. Nothing is decoded, and
    /// nothing is normalised into another name. Invalid, with code `INVALID_PARAMS`: names of more than 255 bytes, paths of more
    /// than 4096.
    ///
    /// ```
    /// use zipfs_sdk::path::WorkspacePath;
    ///
    /// assert_eq!(WorkspacePath::parse("./a//b/").unwrap().as_str(), "a/b");
    /// assert_eq!(WorkspacePath::parse("a/../b").unwrap_err().code(), "PATH_TRAVERSAL");
    /// ```
    pub fn parse(path_raw: &str) -> Result<WorkspacePath, Error> {
        if path_raw == "/" {
            return Ok(WorkspacePath::root());
        }
        if let Some(reason) = escape_in(path_raw) {
            return Err(Error::forbidden("PATH_TRAVERSAL", format!("The path {} {reason}.", shown(path_raw)))
                .suggest("Give a path relative to the root of the workspace, such as 'docs/a.txt'."));
        }
        let components = || path_raw.split('/').filter(|component| !component.is_empty() && *component != ".");
        if path_raw.len() > MAX_PATH {
            return Err(Error::invalid("INVALID_PARAMS", format!("The path is longer than {MAX_PATH} bytes.")));
        }
        if components().any(|component| component.len() > MAX_COMPONENT) {
            return Err(Error::invalid("INVALID_PARAMS", format!("A name in the path is longer than {MAX_COMPONENT} bytes.")));
        }
        let mut checked = String::with_capacity(path_raw.len());
        for component in components() {
            if !checked.is_empty() {
                checked.push('/');
            }
            checked.push_str(component);
        }
        Ok(WorkspacePath(checked))
    }

    /// The root of the workspace.
    pub fn root() -> WorkspacePath {
        WorkspacePath(String::new())
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// For the functions of [`fs`](crate::fs): the root is `.`.
    pub fn as_str(&self) -> &str {
        if self.is_root() { "." } else { &self.0 }
    }

    /// The last component; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.components().next_back()
    }

    /// The directory that holds it; `None` for the root.
    pub fn parent(&self) -> Option<WorkspacePath> {
        if self.is_root() {
            return None;
        }
        Some(WorkspacePath(self.0.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned()))
    }

    /// The components, from the root on.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|component| !component.is_empty())
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "/" } else { &self.0 })
    }
}

/// Why a path may not be followed, if it may not.
fn escape_in(path_raw: &str) -> Option<&'static str> {
    let mut letters = path_raw.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if path_raw.chars().any(char::is_control) {
        // A NUL ends a C string: `ok.txt\0/../../etc` would be checked as one path and opened as another.
        Some("contains a control character")
    } else if path_raw.starts_with('/') || path_raw.starts_with(r"\\") || drive {
        Some("is absolute")
    } else if path_raw.split(['/', '\\']).any(|component| component == "..") {
        Some("contains '..'")
    } else {
        None
    }
}

/// A path for a message: quoted, control characters escaped, and short, since a hostile one can be long.
fn shown(path_raw: &str) -> String {
    let mut head: String = path_raw.chars().take(100).collect();
    if head.len() < path_raw.len() {
        head.push('…');
    }
    format!("'{}'", head.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Class;
    use proptest::prelude::*;

    fn code_of(path: &str) -> String {
        WorkspacePath::parse(path).err().map_or("ok".into(), |error| error.code().to_owned())
    }

    #[test]
    fn roots_and_normal_forms() {
        let table =
            [("/", "."), ("", "."), (".", "."), ("./", "."), ("./.", "."), ("a//b", "a/b"), ("./a", "a"), ("a/./b/", "a/b")];
        for (given, expected) in table {
            assert_eq!(WorkspacePath::parse(given).unwrap().as_str(), expected, "{given:?}");
        }
    }

    #[test]
    fn escapes_are_forbidden() {
        let table = [
            "..",
            "../x",
            "a/..",
            "a/../x",
            "./../x",
            "/x",
            "//x",
            "//",
            r"..\x",
            r"a\..\b",
            r"a\..",
            r"a/b\../c",
            "C:x",
            r"c:\x",
            r"\\srv\x",
            r"\\?\C:\x",
            "a\0",
            "\0a",
            "a\nb",
            "a\r",
            "\u{1b}[0m",
            "a\u{7f}",
            "a\u{85}b",
        ];
        for given in table {
            let error = WorkspacePath::parse(given).unwrap_err();
            assert_eq!((error.class(), error.code()), (Class::Forbidden, "PATH_TRAVERSAL"), "{given:?}");
            assert!(!error.message().chars().any(char::is_control), "{given:?}");
        }
    }

    #[test]
    fn odd_but_legal_names_are_literal() {
        let table = [
            "..foo",
            "...",
            "a..b",
            r"a\b",
            r"\x",
            "%2e%2e/x",
            "..%2fx",
            "~/x",
            "$HOME/x",
            "-rf",
            "con",
            "nul.txt",
            "ab:c",
            "a. ",
            " ",
            "\u{ff0e}\u{ff0e}/x",
            "\u{2025}",
            "\u{2215}x",
            "\u{202e}x",
            ".\u{200b}.",
        ];
        for given in table {
            assert_eq!(WorkspacePath::parse(given).unwrap().as_str(), given);
        }
    }

    #[test]
    fn lengths_are_counted_in_bytes() {
        assert_eq!(code_of(&"x".repeat(255)), "ok");
        assert_eq!(code_of(&"x".repeat(256)), "INVALID_PARAMS");
        assert_eq!(code_of(&"é".repeat(128)), "INVALID_PARAMS");
        assert_eq!(code_of(&"x/".repeat(2048)), "ok");
        assert_eq!(code_of(&"x/".repeat(2049)), "INVALID_PARAMS");
    }

    #[test]
    fn parents() {
        let path = WorkspacePath::parse("a/b").unwrap();
        assert_eq!(path.name(), Some("b"));
        assert_eq!(path.parent().unwrap().as_str(), "a");
        assert_eq!(path.parent().unwrap().parent(), Some(WorkspacePath::root()));
        assert_eq!(WorkspacePath::root().parent(), None);
    }

    /// Paths made of the tokens that matter rather than of random letters.
    fn tokens() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just("/"),
            Just("\\"),
            Just("."),
            Just(".."),
            Just("a"),
            Just("B"),
            Just(":"),
            Just("C:"),
            Just("\0"),
            Just("%2e"),
            Just("é"),
        ];
        proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn what_is_accepted_stays_inside_and_is_a_fixed_point(given in prop_oneof![tokens(), any::<String>()]) {
            if let Ok(path) = WorkspacePath::parse(&given) {
                prop_assert!(path.components().all(|c| !c.is_empty() && c != "." && c != ".." && !c.contains('\0')));
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert_eq!(WorkspacePath::parse(path.as_str()).unwrap(), path);
            }
        }

        #[test]
        fn a_dotdot_component_is_never_accepted(before in tokens(), after in tokens()) {
            let given = format!("{before}/../{after}");
            prop_assert!(WorkspacePath::parse(&given).is_err());
        }
    }
}
