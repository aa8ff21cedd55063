//! What can go wrong with files, and how a tool says it.

use std::fmt;

use crate::Error;

/// A result of a file operation.
pub type Result<T> = std::result::Result<T, IoError>;

/// Why a file operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoError {
    /// There is no such file or directory.
    NotFound,
    /// It leads out of the workspace, or the workspace is mounted read-only.
    NotPermitted,
    /// A directory where a file was wanted.
    IsDir,
    /// A file where a directory was wanted, perhaps in the middle of the path.
    NotDir,
    /// The directory is not empty.
    NotEmpty,
    /// It is there already.
    Exists,
    /// No room: the disk is full or the session's quota is used up.
    NoSpace,
    /// Links that lead to each other.
    Loop,
    /// A name or path is too long for the filesystem.
    NameTooLong,
    /// The filesystem does not take this name or value.
    Invalid,
    /// Anything else, in WASI's or the system's word for it.
    Other(&'static str),
}

impl IoError {
    /// The error of a tool that wanted to use `path`. Codes: `PATH_NOT_FOUND`, `PATH_TRAVERSAL`, `LIMIT_EXCEEDED`,
    /// `INVALID_PARAMS`, and `INTERNAL_ERROR`. A plugin with other words uses [`Error::with_code`], or matches on the kind.
    pub fn at(self, path: impl fmt::Display) -> Error {
        let invalid = |message| Error::invalid("INVALID_PARAMS", message);
        match self {
            IoError::NotFound => Error::not_found("PATH_NOT_FOUND", format!("There is no '{path}' in the workspace.")),
            IoError::NotPermitted => {
                Error::forbidden("PATH_TRAVERSAL", format!("'{path}' leads out of the workspace, or may not be changed."))
            }
            IoError::IsDir => invalid(format!("'{path}' is a directory.")),
            IoError::NotDir => invalid(format!("'{path}' is not a directory, or goes through something that is none.")),
            IoError::NotEmpty => invalid(format!("The directory '{path}' is not empty.")),
            IoError::Exists => invalid(format!("'{path}' exists already.")),
            IoError::NoSpace => {
                Error::limit("LIMIT_EXCEEDED", format!("There is no room for '{path}': the workspace or the disk is full."))
            }
            IoError::Loop => Error::forbidden("PATH_TRAVERSAL", format!("'{path}' goes through links that lead to each other.")),
            IoError::NameTooLong => invalid(format!("'{path}' is too long for the filesystem.")),
            IoError::Invalid => invalid(format!("The filesystem does not take '{path}'.")),
            IoError::Other(word) => Error::internal("INTERNAL_ERROR", format!("Using '{path}' failed: {word}.")),
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoError::NotFound => "not found",
            IoError::NotPermitted => "not permitted",
            IoError::IsDir => "is a directory",
            IoError::NotDir => "not a directory",
            IoError::NotEmpty => "not empty",
            IoError::Exists => "exists already",
            IoError::NoSpace => "no space left",
            IoError::Loop => "too many links",
            IoError::NameTooLong => "name too long",
            IoError::Invalid => "invalid",
            IoError::Other(word) => word,
        })
    }
}

impl std::error::Error for IoError {}

/// Where there is no path to name: the workspace as a whole.
impl From<IoError> for Error {
    fn from(error: IoError) -> Error {
        match error {
            IoError::NotFound => Error::not_found("PATH_NOT_FOUND", "This call has no workspace.")
                .suggest("The tool must declare that it reads or writes the workspace."),
            other => other.at("/"),
        }
    }
}
