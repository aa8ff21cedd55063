//! Why a credential is refused.

use std::time::Duration;

/// In words that are told to whoever sent it. They say nothing that the credential does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It is not good.
    Token(&'static str),
    /// Nobody can say now whether it is good.
    Later { why: &'static str, wait: Duration },
}

impl From<&'static str> for Refused {
    fn from(why: &'static str) -> Refused {
        Refused::Token(why)
    }
}
