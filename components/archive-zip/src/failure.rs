//! The errors of the driver, each made in one place so that code and class always go together.

use crate::ambiguity::Ambiguity;
use crate::contract::{Error, ErrorClass};

/// The archive cannot be read, or can be read in two ways.
pub fn invalid(message: impl Into<String>) -> Error {
    suggesting("Get it anew, or let the program that made it write it again.", error(ErrorClass::Invalid, "ZIP_INVALID", message))
}

/// The archive is well formed and uses what this driver cannot do: encryption, other methods, several parts.
pub fn unsupported(message: impl Into<String>, next: &str) -> Error {
    suggesting(next, error(ErrorClass::Invalid, "ZIP_INVALID", message))
}

/// The archive can be read in two ways, of this kind.
pub fn ambiguous(kind: Ambiguity, message: impl std::fmt::Display) -> Error {
    invalid(kind.says(message))
}

/// A name leads outside of the workspace, or tries to look as if it did not.
pub fn traversal(message: impl Into<String>) -> Error {
    let next = "Nothing was extracted. Archives are not made like that by accident: ask where it comes from.";
    suggesting(next, error(ErrorClass::Forbidden, "PATH_TRAVERSAL", message))
}

/// A name that no filesystem we extract to can hold. The archive is well formed, so the class says limit.
pub fn unholdable(message: impl Into<String>) -> Error {
    error(ErrorClass::Limit, "ZIP_INVALID", message)
}

/// The archive asks for more than it may.
pub fn bomb(message: impl Into<String>) -> Error {
    let next = "If you trust the archive, raise that setting in config.json.";
    suggesting(next, error(ErrorClass::Limit, "ZIP_BOMB_DETECTED", message))
}

/// The disk or the quota is full.
#[cfg(target_family = "wasm")]
pub fn full(message: impl Into<String>) -> Error {
    error(ErrorClass::Limit, "LIMIT_EXCEEDED", message)
}

/// Files changed while they were being packed.
pub fn moved_on(message: impl Into<String>) -> Error {
    error(ErrorClass::Conflict, "SYNC_FAILED", message)
}

/// The changed archive could not be written.
pub fn unwritable(message: impl Into<String>) -> Error {
    error(ErrorClass::Internal, "SYNC_FAILED", message)
}

/// Something that neither the archive nor the caller is to blame for.
pub fn internal(message: impl Into<String>) -> Error {
    error(ErrorClass::Internal, "INTERNAL_ERROR", message)
}

/// A name for a message: quoted, with control characters escaped and the length bounded, since an attacker wrote it and an agent
/// will read it.
pub fn quoted(raw: &[u8]) -> String {
    const SHOWN: usize = 120;
    let cut = &raw[..raw.len().min(SHOWN)];
    let ellipsis = if raw.len() > SHOWN { "…" } else { "" };
    format!("{:?}{ellipsis}", String::from_utf8_lossy(cut))
}

fn error(class: ErrorClass, code: &str, message: impl Into<String>) -> Error {
    Error { class, code: code.into(), message: message.into(), suggestion: None, details: None }
}

fn suggesting(next: &str, error: Error) -> Error {
    Error { suggestion: Some(next.to_owned()), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_name_cannot_break_the_line_or_flood_the_message() {
        assert_eq!(quoted(b"a\nb\x1b[2J"), r#""a\nb\u{1b}[2J""#);
        assert!(quoted(&[b'x'; 65535]).len() < 200);
    }
}
