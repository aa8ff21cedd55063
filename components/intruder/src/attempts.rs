//! What was tried, and what came of it.

use schemars::JsonSchema;
use serde::Serialize;
use wasip2::filesystem::types::ErrorCode;

/// The list, in the order of the attempts.
#[derive(Default, Serialize, JsonSchema)]
pub struct Attempts {
    attempts: Vec<Attempt>,
    /// How many of them got out.
    escaped: usize,
}

#[derive(Serialize, JsonSchema)]
struct Attempt {
    attempt: String,
    /// Begins with "refused", "nothing" or "escaped".
    outcome: String,
}

impl Attempts {
    /// Notes an attempt that the host must refuse.
    pub fn must_be_refused<T>(&mut self, attempt: &str, result: Result<T, ErrorCode>) {
        match result {
            Err(error) => self.note(attempt, format!("refused: {}", error.name())),
            Ok(_) => self.note_escape(attempt, "it worked".to_owned()),
        }
    }

    /// Notes a look around that must find nothing but what is `expected`.
    pub fn must_find_only(&mut self, attempt: &str, expected: &[&str], mut found: Vec<String>) {
        found.retain(|thing| !expected.contains(&thing.as_str()));
        match (found.is_empty(), expected) {
            (true, []) => self.note(attempt, "nothing there".to_owned()),
            (true, _) => self.note(attempt, format!("nothing but {}", expected.join(", "))),
            (false, _) => self.note_escape(attempt, format!("found {}", found.join(", "))),
        }
    }

    fn note(&mut self, attempt: &str, outcome: String) {
        self.attempts.push(Attempt { attempt: attempt.to_owned(), outcome });
    }

    fn note_escape(&mut self, attempt: &str, how: String) {
        self.escaped += 1;
        self.note(attempt, format!("escaped: {how}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_counts_as_an_escape_and_what_fails_does_not() {
        let mut attempts = Attempts::default();
        attempts.must_be_refused::<()>("read", Err(ErrorCode::NotPermitted));
        attempts.must_find_only("look", &["/workspace"], vec!["/workspace".into()]);
        attempts.must_find_only("listen", &[], Vec::new());
        assert_eq!(attempts.escaped, 0);
        attempts.must_be_refused("read", Ok(()));
        attempts.must_find_only("look", &["/workspace"], vec!["/workspace".into(), "/home".into()]);
        assert_eq!(attempts.escaped, 2);
        let outcomes: Vec<&str> = attempts.attempts.iter().map(|attempt| attempt.outcome.as_str()).collect();
        let expected =
            ["refused: not-permitted", "nothing but /workspace", "nothing there", "escaped: it worked", "escaped: found /home"];
        assert_eq!(outcomes, expected);
    }
}
