//! A number we promise, held against what this run found.

use serde::Serialize;

use crate::figures::{Series, Spread};

pub struct Promise {
    pub text: String,
    /// The most that the figure may be.
    pub limit: f64,
    pub unit: &'static str,
    /// Nothing if one side of the comparison was not measured.
    pub found: Option<Spread>,
    /// Whether `--check` looks at it. Absolute times are shown but not checked: they judge the machine as much as the program.
    pub is_checked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Holds,
    Broken,
    NotMeasured,
}

impl Promise {
    pub fn at_most(text: impl Into<String>, limit: f64, unit: &'static str) -> Self {
        Self { text: text.into(), limit, unit, found: None, is_checked: true }
    }

    pub fn between(self, own: Option<&Series>, other: Option<&Series>, compare: impl Fn(&Series, &Series) -> Spread) -> Self {
        Self { found: own.zip(other).map(|(own, other)| compare(own, other)), ..self }
    }

    pub fn not_checked(self) -> Self {
        Self { is_checked: false, ..self }
    }

    pub fn verdict(&self) -> Verdict {
        match self.found {
            None => Verdict::NotMeasured,
            Some(found) if found.median <= self.limit => Verdict::Holds,
            Some(_) => Verdict::Broken,
        }
    }

    /// A promise that was not measured was not kept either: a check that passes because a peer is missing checks nothing.
    pub fn fails_check(&self) -> bool {
        self.is_checked && self.verdict() != Verdict::Holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(median: f64) -> Promise {
        Promise { found: Some(Spread { median, low: 0.0, high: 1000.0 }), ..Promise::at_most("a − b", 100.0, "µs") }
    }

    #[test]
    fn the_median_over_the_rounds_decides() {
        assert_eq!(found(99.0).verdict(), Verdict::Holds);
        assert_eq!(found(101.0).verdict(), Verdict::Broken);
        assert_eq!(found(f64::NAN).verdict(), Verdict::Broken);
        assert!(!found(99.0).fails_check());
        assert!(found(101.0).fails_check());
    }

    #[test]
    fn what_was_not_measured_fails_the_check() {
        let promise = Promise::at_most("a − b", 100.0, "µs").between(None, None, |_, _| unreachable!());
        assert_eq!(promise.verdict(), Verdict::NotMeasured);
        assert!(promise.fails_check());
        assert!(!promise.not_checked().fails_check());
    }
}
