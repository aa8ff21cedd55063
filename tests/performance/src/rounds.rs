//! Fair turns: every entrant has a block in every round, so that whatever the machine does meanwhile meets them all.

use anyhow::Result;

use crate::figures::Series;
use crate::peers::{Absent, Peer};

/// One peer in a measurement, with what its blocks need: an open pipe, or how to start one.
pub struct Entrant<'a, T> {
    pub peer: &'a Peer,
    pub state: T,
}

/// Runs `rounds` rounds, and gives back what each entrant's blocks measured. The one who starts a round comes last in the next,
/// so that nobody always follows the same neighbour. An entrant that fails is out, with its reason and without figures.
pub fn interleave<T>(
    entrants: Vec<Entrant<'_, T>>,
    rounds: usize,
    mut block: impl FnMut(&Peer, &mut T) -> Result<Vec<f64>>,
) -> (Vec<Series>, Vec<Absent>) {
    let mut runs: Vec<(Entrant<'_, T>, Vec<Vec<f64>>)> = entrants.into_iter().map(|entrant| (entrant, Vec::new())).collect();
    let mut absent = Vec::new();
    for round in 0..rounds {
        let mut failed = Vec::new();
        for turn in 0..runs.len() {
            let place = (turn + round) % runs.len();
            let (entrant, measured) = &mut runs[place];
            match block(entrant.peer, &mut entrant.state) {
                Ok(samples) => measured.push(samples),
                Err(error) => {
                    absent.push(Absent { peer: entrant.peer.name.clone(), reason: format!("{error:#}") });
                    failed.push(place);
                }
            }
        }
        failed.sort_unstable();
        for place in failed.into_iter().rev() {
            runs.remove(place);
        }
    }
    let series =
        runs.into_iter().map(|(entrant, rounds)| Series { peer: entrant.peer.name.clone(), role: entrant.peer.role, rounds });
    (series.collect(), absent)
}
