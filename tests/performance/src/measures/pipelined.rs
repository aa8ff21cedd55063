//! `pipelined`: how many calls a second go through when an agent has many of them open at once.

use anyhow::{Context, Result};

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Peer, Role};
use crate::pipe::Pipe;
use crate::promise::Promise;
use crate::rounds::{Entrant, interleave};

pub const MEASURE: Measure = Measure {
    name: "pipelined",
    about: "a text file of 1 KiB, 32 calls in flight over stdio",
    unit: "calls/s",
    better: Better::Higher,
    run,
};

const IN_FLIGHT: usize = 32;

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut entrants = Vec::new();
    let mut absent = Vec::new();
    for peer in &field.peers {
        match warm_up(peer, effort) {
            Ok(pipe) => entrants.push(Entrant { peer, state: pipe }),
            Err(error) => absent.push(Absent { peer: peer.name.clone(), reason: format!("{error:#}") }),
        }
    }
    let (series, failed) =
        interleave(entrants, effort.flood_rounds, |peer, pipe| (0..effort.floods).map(|_| flood(peer, pipe, effort)).collect());
    absent.extend(failed);
    let mut finding = Finding { series, absent, promises: Vec::new() };
    let zipfs = finding.of(Role::Zipfs).next();
    let promise = |peer: &Series| {
        let text = format!("{} ÷ zipfs", peer.peer);
        Promise::at_most(text, 1.0, "×").between(Some(peer), zipfs, |other, own| other.over(own, Figure::Median))
    };
    finding.promises = finding.of(Role::TypeScript).map(promise).collect();
    finding
}

fn warm_up(peer: &Peer, effort: &Effort) -> Result<Pipe> {
    let mut pipe = Pipe::connect(&peer.launch)?;
    for _ in 0..effort.floods_to_warm_up {
        flood(peer, &mut pipe, effort)?;
    }
    Ok(pipe)
}

fn flood(peer: &Peer, pipe: &mut Pipe, effort: &Effort) -> Result<f64> {
    let request = peer.read.as_ref().ok().context("no such tool")?;
    let taken = pipe.flood(request, IN_FLIGHT, effort.flood_calls)?;
    Ok(effort.flood_calls as f64 / taken.as_secs_f64())
}
