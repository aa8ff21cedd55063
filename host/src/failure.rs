//! The one error that crosses every seam of the host, and the one table that says what each class means outside.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value, json};

/// What kind of trouble it is. The same words as `error-class` in the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Invalid,
    NotFound,
    Forbidden,
    Conflict,
    Busy,
    Limit,
    Timeout,
    Internal,
}

impl Class {
    /// As programs and people name it.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Invalid => "invalid",
            Class::NotFound => "not-found",
            Class::Forbidden => "forbidden",
            Class::Conflict => "conflict",
            Class::Busy => "busy",
            Class::Limit => "limit",
            Class::Timeout => "timeout",
            Class::Internal => "internal",
        }
    }

    /// The exit code of a command. Codes that need another are in [`Failure::exit_code`].
    const fn exit_code(self) -> u8 {
        match self {
            Class::Forbidden => 5,
            Class::Conflict => 3,
            Class::Invalid | Class::NotFound | Class::Busy | Class::Limit | Class::Timeout | Class::Internal => 1,
        }
    }
}

/// Something that went wrong, in words that an agent can act on.
#[derive(Debug, Clone)]
pub struct Failure {
    pub class: Class,
    /// A constant that programs compare: `PATH_NOT_FOUND`.
    pub code: Cow<'static, str>,
    /// What happened, to which argument.
    pub message: String,
    /// What to do next.
    pub suggestion: Option<String>,
    pub details: Option<Value>,
}

impl Failure {
    pub fn new(class: Class, code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Failure { class, code: code.into(), message: message.into(), suggestion: None, details: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Class::Invalid, "INVALID_PARAMS", message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Class::Internal, "INTERNAL_ERROR", message)
    }

    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(Class::Limit, "LIMIT_EXCEEDED", message)
    }

    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The exit code of a command that ends in this failure: 2 misused, 3 conflict, 4 no such session, 5 security, 1 the rest.
    pub fn exit_code(&self) -> u8 {
        match &*self.code {
            "SESSION_NOT_FOUND" | "AMBIGUOUS_SESSION" | "NO_SESSIONS" => 4,
            "ZIP_BOMB_DETECTED" | "PATH_TRAVERSAL" => 5,
            "CONFLICT_DETECTED" => 3,
            "USAGE" => 2,
            "NAME_COLLISION" | "SYNC_FAILED" => 1,
            _ => self.class.exit_code(),
        }
    }

    /// The message with its next step, as people and models read it.
    pub fn sentence(&self) -> String {
        match &self.suggestion {
            Some(next) => format!("{} {next}", self.message),
            None => self.message.clone(),
        }
    }

    /// The failure as JSON, in the shape that a plugin's manifest picks.
    pub fn render(&self, shape: Shape) -> Value {
        let mut body = Map::new();
        match shape {
            Shape::Nested => {
                let mut inner = Map::new();
                inner.insert("code".into(), json!(self.code));
                inner.insert("message".into(), json!(self.sentence()));
                if let Some(details) = &self.details {
                    inner.insert("details".into(), details.clone());
                }
                body.insert("error".into(), Value::Object(inner));
            }
            Shape::Coded => {
                body.insert("code".into(), json!(self.code));
                body.insert("error".into(), json!(self.message));
                if let Some(next) = &self.suggestion {
                    body.insert("suggestion".into(), json!(next));
                }
            }
            Shape::Titled => {
                body.insert("error".into(), json!(self.code));
                body.insert("message".into(), json!(self.sentence()));
                if let Some(details) = &self.details {
                    body.insert("details".into(), details.clone());
                }
            }
        }
        Value::Object(body)
    }
}

/// How a plugin's errors look on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// `{"error": {"code", "message", "details"?}}`
    #[default]
    Nested,
    /// `{"code", "error", "suggestion"?}`
    Coded,
    /// `{"error": code, "message", "details"?}`
    Titled,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.sentence())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_carries_the_code_and_the_words() {
        let failure = Failure::invalid("`path` is missing.").suggest("Give a path.");
        assert_eq!(
            failure.render(Shape::Nested),
            json!({"error": {"code": "INVALID_PARAMS", "message": "`path` is missing. Give a path."}})
        );
        assert_eq!(
            failure.render(Shape::Coded),
            json!({"code": "INVALID_PARAMS", "error": "`path` is missing.", "suggestion": "Give a path."})
        );
        assert_eq!(failure.render(Shape::Titled), json!({"error": "INVALID_PARAMS", "message": "`path` is missing. Give a path."}));
    }

    #[test]
    fn security_conflict_and_session_failures_have_their_own_exit_codes() {
        let exit = |class, code: &'static str| Failure::new(class, code, "").exit_code();
        assert_eq!(exit(Class::Limit, "ZIP_BOMB_DETECTED"), 5);
        assert_eq!(exit(Class::Limit, "LIMIT_EXCEEDED"), 1);
        assert_eq!(exit(Class::NotFound, "NO_SESSIONS"), 4);
        assert_eq!(exit(Class::Conflict, "CONFLICT_DETECTED"), 3);
        assert_eq!(exit(Class::Conflict, "NAME_COLLISION"), 1);
        assert_eq!(exit(Class::Conflict, "SYNC_FAILED"), 1);
        assert_eq!(exit(Class::Invalid, "USAGE"), 2);
    }
}
