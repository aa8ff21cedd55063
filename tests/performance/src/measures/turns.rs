//! One call at a time: what an agent that waits for each answer sees.

use anyhow::{Context, Result};

use super::Finding;
use crate::effort::Effort;
use crate::peers::{Absent, Field, Peer};
use crate::pipe::Pipe;
use crate::rounds::{Entrant, interleave};
use crate::wire::Request;

/// Times single calls of the tool that `pick` chooses, in microseconds.
pub fn take_turns(field: &Field, effort: &Effort, pick: fn(&Peer) -> &Result<Request, String>) -> Finding {
    let mut entrants = Vec::new();
    let mut left_out = Vec::new();
    for peer in &field.peers {
        match pick(peer).as_ref().map_err(Clone::clone).and_then(|request| warm_up(peer, request, effort)) {
            Ok(pipe) => entrants.push(Entrant { peer, state: pipe }),
            Err(reason) => left_out.push(Absent { peer: peer.name.clone(), reason }),
        }
    }
    let (series, failed) = interleave(entrants, effort.rounds, |peer, pipe| {
        let request = pick(peer).as_ref().ok().context("no such tool")?;
        for _ in 0..effort.calls_to_settle {
            pipe.ask(request)?;
        }
        (0..effort.calls).map(|_| Ok(pipe.ask(request)?.as_secs_f64() * 1e6)).collect()
    });
    left_out.extend(failed);
    Finding { series, absent: left_out, promises: Vec::new() }
}

fn warm_up(peer: &Peer, request: &Request, effort: &Effort) -> Result<Pipe, String> {
    let run = || -> Result<Pipe> {
        let mut pipe = Pipe::connect(&peer.launch)?;
        for _ in 0..effort.calls_to_warm_up {
            pipe.ask(request)?;
        }
        Ok(pipe)
    };
    run().map_err(|error| format!("{error:#}"))
}
