//! Fair turns: every entrant has a block in every round, so that whatever the machine does meanwhile meets them all.

use anyhow::Result;

use crate::figures::Series;
use crate::peers::{Absent, Peer, Role};

/// One peer in a measurement, with what its blocks need: an open pipe, or how to start one.
pub struct Entrant<'a, T> {
    pub peer: &'a Peer,
    pub state: T,
}

/// Anybody who takes turns: a command that is run anew, a server, a loop in this program.
pub struct Runner<T> {
    pub name: String,
    pub role: Role,
    pub state: T,
}

/// As [`take_turns`], for peers.
pub fn interleave<T>(
    entrants: Vec<Entrant<'_, T>>,
    rounds: usize,
    mut block: impl FnMut(&Peer, &mut T) -> Result<Vec<f64>>,
) -> (Vec<Series>, Vec<Absent>) {
    let runners =
        entrants.into_iter().map(|entrant| Runner { name: entrant.peer.name.clone(), role: entrant.peer.role, state: entrant });
    take_turns(runners.collect(), rounds, |entrant| block(entrant.peer, &mut entrant.state))
}

/// Runs `rounds` rounds, and gives back what each runner's blocks measured. The one who starts a round comes last in the next,
/// so that nobody always follows the same neighbour. A runner that fails is out, with its reason and without figures.
pub fn take_turns<T>(
    runners: Vec<Runner<T>>,
    rounds: usize,
    mut block: impl FnMut(&mut T) -> Result<Vec<f64>>,
) -> (Vec<Series>, Vec<Absent>) {
    let mut runs: Vec<(Runner<T>, Vec<Vec<f64>>)> = runners.into_iter().map(|runner| (runner, Vec::new())).collect();
    let mut absent = Vec::new();
    for round in 0..rounds {
        let mut failed = Vec::new();
        for turn in 0..runs.len() {
            let place = (turn + round) % runs.len();
            let (runner, measured) = &mut runs[place];
            match block(&mut runner.state) {
                Ok(samples) => measured.push(samples),
                Err(error) => {
                    absent.push(Absent { peer: runner.name.clone(), reason: format!("{error:#}") });
                    failed.push(place);
                }
            }
        }
        failed.sort_unstable();
        for place in failed.into_iter().rev() {
            runs.remove(place);
        }
    }
    let series = runs.into_iter().map(|(runner, rounds)| Series { peer: runner.name, role: runner.role, rounds });
    (series.collect(), absent)
}
