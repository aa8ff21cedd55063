//! Paths as callers write them, and what is wrong with those that cannot be used.

use serde_json::json;
use zipfs_sdk::Error;
use zipfs_sdk::fs::IoError;
use zipfs_sdk::path::{PathArgument, WorkspacePath};

/// A path, checked, and the way its caller writes paths.
pub struct Place {
    pub path: WorkspacePath,
    given: String,
}

impl Place {
    pub fn of(argument: &PathArgument) -> Result<Place, Error> {
        let given = argument.as_given().to_owned();
        match argument.resolve() {
            Ok(path) => Ok(Place { path, given }),
            Err(error) => Err(value_error(&given, format!("{} Access outside of the root directory is denied.", error.message()))),
        }
    }

    /// A name in this directory, in the caller's style: from the root on if the path was.
    pub fn of_entry(&self, name: &str) -> String {
        let slash = if self.given.starts_with('/') { "/" } else { "" };
        match self.path.is_root() {
            true => format!("{slash}{name}"),
            false => format!("{slash}{}/{name}", self.path),
        }
    }

    /// There is nothing, or something else.
    pub fn not_found(&self, what: &str) -> Error {
        let given = &self.given;
        Error::not_found("FileNotFoundError", format!("'{given}' {what}."))
            .suggest("See what there is with fs.listDirectory.")
            .details(json!({ "path": given }))
    }

    /// It is there and cannot be used so.
    pub fn value_error(&self, why: impl Into<String>) -> Error {
        value_error(&self.given, why)
    }

    pub fn failed(&self, error: IoError) -> Error {
        match error {
            IoError::NotFound | IoError::NotDir => self.not_found("does not exist"),
            IoError::NotPermitted | IoError::Loop => self.value_error("The path leads outside of the root directory."),
            IoError::NameTooLong | IoError::Invalid => self.value_error("The filesystem does not take this path."),
            other => other.at(&self.given),
        }
    }
}

fn value_error(given: &str, why: impl Into<String>) -> Error {
    Error::invalid("ValueError", why).details(json!({ "path": given }))
}
