//! Figures from samples: of one round, over the rounds, and between two series of the same run.
//!
//! Whatever is reported is taken within each round and then as the median over the rounds. A disturbance that lasts a round
//! or two (another process, a change of clock speed) then moves the spread that is shown beside the figure, not the figure.

use serde::Serialize;

use crate::peers::Role;

/// The samples of one peer, round by round.
#[derive(Clone, Debug)]
pub struct Series {
    pub peer: String,
    pub role: Role,
    pub rounds: Vec<Vec<f64>>,
}

/// Which end of the scale is the good one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Lower,
    Higher,
}

/// What is taken from the samples of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    Median,
    P99,
}

impl Figure {
    fn of(self, samples: &[f64]) -> f64 {
        let share = match self {
            Self::Median => 0.5,
            Self::P99 => 0.99,
        };
        quantile(samples, share)
    }
}

/// A figure over the rounds: the median, the least and the greatest.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Series {
    pub fn spread(&self, figure: Figure) -> Spread {
        spread_of(self.by_round(figure).into_iter())
    }

    pub fn by_round(&self, figure: Figure) -> Vec<f64> {
        self.rounds.iter().map(|round| figure.of(round)).collect()
    }

    /// The best sample of all rounds: what this peer can do when nothing is in its way.
    pub fn best(&self, better: Better) -> f64 {
        let samples = self.rounds.iter().flatten().copied();
        match better {
            Better::Lower => samples.fold(f64::INFINITY, f64::min),
            Better::Higher => samples.fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Whether the rounds have a hundred samples each; with fewer a p99 is a maximum under another name.
    pub fn has_tail(&self) -> bool {
        self.rounds.iter().all(|round| round.len() >= 100)
    }

    /// How much more this series has than the other, round against the same round.
    pub fn minus(&self, other: &Self, figure: Figure) -> Spread {
        self.against(other, figure, |own, others| own - others)
    }

    /// How many times the other's figure this series has, round against the same round.
    pub fn over(&self, other: &Self, figure: Figure) -> Spread {
        self.against(other, figure, |own, others| own / others)
    }

    fn against(&self, other: &Self, figure: Figure, compare: fn(f64, f64) -> f64) -> Spread {
        let pairs = self.rounds.iter().zip(&other.rounds);
        spread_of(pairs.map(|(own, others)| compare(figure.of(own), figure.of(others))))
    }
}

/// The middle and the ends.
pub fn spread_of(values: impl Iterator<Item = f64>) -> Spread {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    Spread {
        median: quantile(&values, 0.5),
        low: values.first().copied().unwrap_or(f64::NAN),
        high: values.last().copied().unwrap_or(f64::NAN),
    }
}

/// The smallest sample that is not less than `share` of all of them; for the middle of an even number, the mean of the two.
fn quantile(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return f64::NAN;
    }
    if share == 0.5 && sorted.len().is_multiple_of(2) {
        return (sorted[sorted.len() / 2 - 1] + sorted[sorted.len() / 2]) / 2.0;
    }
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rounds: &[&[f64]]) -> Series {
        Series { peer: "p".into(), role: Role::Native, rounds: rounds.iter().map(|round| round.to_vec()).collect() }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).rev().collect();
        assert_eq!(quantile(&hundred, 0.99), 99.0);
        assert_eq!(quantile(&hundred, 0.5), 50.5);
        assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn one_disturbed_round_moves_the_spread_and_not_the_figure() {
        let calm = series(&[&[1.0, 2.0, 3.0], &[2.0, 2.0, 2.0], &[50.0, 60.0, 70.0]]);
        assert_eq!(calm.spread(Figure::Median), Spread { median: 2.0, low: 2.0, high: 60.0 });
        assert_eq!((calm.best(Better::Lower), calm.best(Better::Higher)), (1.0, 70.0));
        assert!(!calm.has_tail());
    }

    #[test]
    fn comparisons_pair_rounds() {
        let own = series(&[&[20.0], &[200.0], &[40.0]]);
        let other = series(&[&[10.0], &[100.0], &[10.0]]);
        assert_eq!(own.over(&other, Figure::Median), Spread { median: 2.0, low: 2.0, high: 4.0 });
        assert_eq!(own.minus(&other, Figure::Median), Spread { median: 30.0, low: 10.0, high: 100.0 });
    }
}
