//! What a command is about: a session, a path in it, or both, in the forms that can be typed.

use serde_json::{Value, json};

use super::console::Console;
use crate::failure::Failure;

/// `[SESSION] [PATH]`, where one word alone may be either, or `SESSION:PATH`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Place {
    /// The session, or SESSION:PATH; the only one if left out.
    session: Option<String>,
    /// The path in it; the root if left out.
    path: Option<String>,
}

/// `[SESSION] <PATH>`, where one word alone is the path, or `SESSION:PATH`.
#[derive(Debug, Clone, clap::Args)]
pub struct File {
    /// The path, SESSION:PATH, or with another word after it the session.
    #[arg(value_name = "SESSION:PATH")]
    first: String,
    /// The path, if the session was a word of its own.
    #[arg(value_name = "PATH")]
    second: Option<String>,
}

/// What was meant.
#[derive(Debug, PartialEq)]
enum Meant<'a> {
    /// A session or the only one, and a path in it or its root.
    Exactly(Option<&'a str>, Option<&'a str>),
    /// The session of that name if there is one, else a path in the only session.
    SessionOrPath(&'a str),
}

impl Place {
    fn meant(&self) -> Meant<'_> {
        match (self.session.as_deref(), self.path.as_deref()) {
            (Some(session), Some(path)) => Meant::Exactly(Some(session), Some(path)),
            (Some(word), None) => match word.split_once(':') {
                Some((session, path)) => Meant::Exactly(given(session), given(path)),
                None if could_name_a_session(word) => Meant::SessionOrPath(word),
                None => Meant::Exactly(None, Some(word)),
            },
            (None, _) => Meant::Exactly(None, None),
        }
    }

    /// Calls a tool for the place. A word alone is tried as a session first, which costs nothing if there is none.
    pub async fn ask(&self, console: &Console, tool: &str, arguments: Value) -> Result<Value, Failure> {
        match self.meant() {
            Meant::Exactly(session, path) => console.ask(tool, at(session, path, arguments)).await,
            Meant::SessionOrPath(word) => match console.ask(tool, at(Some(word), None, arguments.clone())).await {
                Err(failure) if failure.code == "SESSION_NOT_FOUND" => {
                    console.ask(tool, at(None, Some(word), arguments)).await.map_err(|failure| neither(failure, word))
                }
                answer => answer,
            },
        }
    }
}

impl File {
    /// Session and path.
    pub fn split(&self) -> (Option<&str>, &str) {
        match (&self.second, self.first.split_once(':')) {
            (Some(path), _) => (Some(&self.first), path),
            (None, Some((session, path))) => (given(session), path),
            (None, None) => (None, &self.first),
        }
    }

    /// The path as it was given.
    pub fn path(&self) -> &str {
        self.split().1
    }

    /// Calls a tool for the file.
    pub async fn ask(&self, console: &Console, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let (session, path) = self.split();
        console.ask(tool, at(session, Some(path), arguments)).await.map_err(|failure| self.explain(failure))
    }

    /// A name with a colon in it was perhaps no session at all.
    fn explain(&self, failure: Failure) -> Failure {
        if failure.code != "SESSION_NOT_FOUND" || self.second.is_some() {
            return failure;
        }
        let hint = format!("For a file whose name has a colon, type :{}", self.first);
        let next = failure.suggestion.as_ref().map_or_else(|| hint.clone(), |known| format!("{known} {hint}"));
        failure.suggest(next)
    }
}

/// Adds session and path to a call's arguments.
pub fn at(session: Option<&str>, path: Option<&str>, mut arguments: Value) -> Value {
    if let Some(session) = session {
        arguments["session"] = json!(session);
    }
    if let Some(path) = path {
        arguments["path"] = json!(path);
    }
    arguments
}

fn given(word: &str) -> Option<&str> {
    Some(word).filter(|word| !word.is_empty())
}

/// Names and ids have no other characters, so a word with a slash or a dot is a path without asking.
fn could_name_a_session(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn neither(failure: Failure, word: &str) -> Failure {
    match &*failure.code {
        "PATH_NOT_FOUND" => Failure { message: format!("{} There is no session {word:?} either.", failure.message), ..failure },
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(session: Option<&str>, path: Option<&str>) -> Place {
        Place { session: session.map(str::to_owned), path: path.map(str::to_owned) }
    }

    #[test]
    fn places() {
        assert_eq!(place(None, None).meant(), Meant::Exactly(None, None));
        assert_eq!(place(Some("a"), Some("b:c")).meant(), Meant::Exactly(Some("a"), Some("b:c")));
        assert_eq!(place(Some("a:b:c"), None).meant(), Meant::Exactly(Some("a"), Some("b:c")));
        assert_eq!(place(Some("a:"), None).meant(), Meant::Exactly(Some("a"), None));
        assert_eq!(place(Some(":b"), None).meant(), Meant::Exactly(None, Some("b")));
        assert_eq!(place(Some("docs"), None).meant(), Meant::SessionOrPath("docs"));
        for path in ["/", "a.txt", "docs/x", "ä", ""] {
            assert_eq!(place(Some(path), None).meant(), Meant::Exactly(None, Some(path)));
        }
    }

    #[test]
    fn files() {
        let file = |first: &str, second: Option<&str>| File { first: first.to_owned(), second: second.map(str::to_owned) };
        assert_eq!(file("a.txt", None).split(), (None, "a.txt"));
        assert_eq!(file("s:a:b.txt", None).split(), (Some("s"), "a:b.txt"));
        assert_eq!(file(":a:b.txt", None).split(), (None, "a:b.txt"));
        assert_eq!(file("s", Some("a:b.txt")).split(), (Some("s"), "a:b.txt"));
    }
}
