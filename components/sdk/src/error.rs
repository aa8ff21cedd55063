//! The error of a tool, resource or prompt, and its constructors: one per class.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::bindings::plugin::zipfs::plugin::types;

/// What kind of trouble an error is. It decides the HTTP status, the exit code, and whether a retry makes sense.
pub use crate::bindings::plugin::zipfs::plugin::types::ErrorClass as Class;

/// What went wrong, for the agent: a class and a code for programs, a sentence and a next step for whoever reads.
///
/// ```
/// use zipfs_sdk::Error;
///
/// let error = Error::not_found("NOTE_NOT_FOUND", "There is no note 'milk'.").suggest("List them with notes_list.");
/// assert_eq!(error.code(), "NOTE_NOT_FOUND");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    class: Class,
    code: Cow<'static, str>,
    message: String,
    suggestion: Option<String>,
    details: Option<Value>,
}

impl Error {
    /// An error of any class. The other constructors read better where the class is known.
    pub fn new(class: Class, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error { class, code: code.into(), message: message.into(), suggestion: None, details: None }
    }

    /// The arguments are wrong; the same call will fail again.
    pub fn invalid(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Invalid, code, message)
    }

    /// The thing named does not exist.
    pub fn not_found(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::NotFound, code, message)
    }

    /// It exists or it could, and the caller may not have it.
    pub fn forbidden(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Forbidden, code, message)
    }

    /// The state moved on: somebody else changed it first.
    pub fn conflict(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Conflict, code, message)
    }

    /// Somebody is using it now; trying again later can work.
    pub fn busy(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Busy, code, message)
    }

    /// A limit was reached: size, count, quota, memory.
    pub fn limit(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Limit, code, message)
    }

    /// The time given to the call ran out.
    pub fn timeout(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Timeout, code, message)
    }

    /// A fault of the plugin or of its host.
    pub fn internal(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Error {
        Error::new(Class::Internal, code, message)
    }

    /// Adds what to do next.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Error {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Adds anything more, for programs.
    pub fn details(mut self, details: Value) -> Error {
        self.details = Some(details);
        self
    }

    /// The same trouble under another code, for a plugin that has its own word for it.
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Error {
        self.code = code.into();
        self
    }

    /// What kind of trouble it is.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The constant that programs compare.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The sentence for whoever reads.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next, if there is a good next step.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    /// Anything more.
    pub fn more(&self) -> Option<&Value> {
        self.details.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}

impl From<Error> for types::Error {
    fn from(error: Error) -> types::Error {
        types::Error {
            class: error.class,
            code: error.code.into_owned(),
            message: error.message,
            suggestion: error.suggestion,
            details: error.details.map(|details| details.to_string()),
        }
    }
}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Error {
        Error {
            class: error.class,
            code: error.code.into(),
            message: error.message,
            suggestion: error.suggestion,
            // Text that is no JSON is still worth more to the reader than nothing.
            details: error.details.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_crosses_the_boundary_and_back_unchanged() {
        let error = Error::limit("FULL", "No room.").suggest("Delete something.").details(serde_json::json!({"free": 0}));
        assert_eq!(Error::from(types::Error::from(error.clone())), error);
    }
}
