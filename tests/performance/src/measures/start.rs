//! `start`: from the start of the process to the list of its tools, which is when a client can begin to work.

use std::time::Instant;

use anyhow::Result;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::peers::{Field, Role};
use crate::pipe::{Launch, Pipe};
use crate::promise::Promise;
use crate::rounds::{Entrant, interleave};
use crate::wire::Request;

pub const MEASURE: Measure = Measure {
    name: "start",
    about: "from spawn through the handshake to the answer of tools/list",
    unit: "ms",
    better: Better::Lower,
    run,
};

/// What a start of zipfs may take with its caches warm.
const MOST_MILLISECONDS: f64 = 15.0;

fn run(field: &Field, effort: &Effort) -> Finding {
    let entrants = field.peers.iter().map(|peer| Entrant { peer, state: () }).collect();
    let (series, absent) =
        interleave(entrants, effort.start_rounds, |peer, ()| (0..effort.starts).map(|_| time_start(&peer.launch)).collect());
    let mut finding = Finding { series, absent, promises: Vec::new() };
    let zipfs = finding.of(Role::Zipfs).next();
    let floor = finding.of(Role::Floor).next();
    finding.promises = vec![
        // What a process costs on this machine now is taken off, so the verdict does not depend on the machine alone.
        Promise::at_most("zipfs − pipe echo, p50", MOST_MILLISECONDS, "ms")
            .between(zipfs, floor, |own, other| own.minus(other, Figure::Median)),
        Promise::at_most("zipfs, p50", MOST_MILLISECONDS, "ms")
            .between(zipfs, zipfs, |own, _| own.spread(Figure::Median))
            .not_checked(),
    ];
    finding
}

fn time_start(launch: &Launch) -> Result<f64> {
    let start = Instant::now();
    let mut pipe = Pipe::start(launch)?;
    pipe.shake_hands()?;
    pipe.ask(&Request::list_tools())?;
    let taken = start.elapsed();
    // Going down is not part of it.
    drop(pipe);
    Ok(taken.as_secs_f64() * 1e3)
}
