//! What a tool on the bench did.

use serde_json::Value;

use crate::log::Level;
use crate::{Error, Outcome, Questions, Reply};

/// One report of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Out of how much, if known.
    pub total: Option<f64>,
    /// What the tool said about it.
    pub message: Option<String>,
}

/// The end of a call, and what was said on the way.
#[derive(Debug)]
pub struct Called {
    /// What the tool returned.
    pub result: Result<Reply, Error>,
    /// Its reports of progress.
    pub progress: Vec<Progress>,
    /// Its log lines.
    pub log: Vec<(Level, String)>,
}

impl Called {
    /// The finished answer.
    ///
    /// # Panics
    /// If the tool failed or asked a question.
    #[track_caller]
    pub fn outcome(&self) -> &Outcome {
        match &self.result {
            Ok(Reply::Complete(outcome)) => outcome,
            Ok(Reply::InputRequired(questions)) => panic!("the tool asks {:?}", questions.names().collect::<Vec<_>>()),
            Err(error) => panic!("the tool failed: {error}"),
        }
    }

    /// The structured result.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.outcome().structured_json().expect("the tool gave no structured result");
        serde_json::from_str(text).expect("a structured result is JSON")
    }

    /// The error.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn error(&self) -> &Error {
        match &self.result {
            Err(error) => error,
            Ok(reply) => panic!("the tool did not fail: {reply:?}"),
        }
    }

    /// The questions to the client.
    ///
    /// # Panics
    /// If the tool finished or failed.
    #[track_caller]
    pub fn questions(&self) -> &Questions {
        match &self.result {
            Ok(Reply::InputRequired(questions)) => questions,
            other => panic!("the tool asks nothing: {other:?}"),
        }
    }
}
