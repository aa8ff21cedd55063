//! `http`: many clients at once over HTTP, each with a connection of its own, all reading the same small file.

mod load;
mod services;

use anyhow::Result;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Peer, Role};
use crate::promise::Promise;
use services::Service;

pub const MEASURE: Measure = Measure {
    name: "http",
    about: "a text file of 1 KiB read by 64 clients over HTTP: zipfs on 16 sessions, the TypeScript server behind its own SDK's \
            Streamable HTTP, a transport session for each client",
    unit: "calls/s",
    better: Better::Higher,
    run,
};

const CLIENTS: usize = 64;

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut absent = Vec::new();
    let mut started: Vec<(String, Role, Service)> = Vec::new();
    for peer in field.peers.iter().filter(|peer| matches!(peer.role, Role::Zipfs | Role::TypeScript)) {
        let name = format!("{}, HTTP", peer.name);
        match start(field, peer) {
            Ok(service) => started.push((name, peer.role, service)),
            Err(error) => absent.push(Absent { peer: name, reason: format!("{error:#}") }),
        }
    }
    let mut series: Vec<Series> = Vec::new();
    // In turns, so that what happens on the machine happens to all.
    for _ in 0..effort.flood_rounds.max(3) {
        for (name, role, service) in &started {
            match service.load() {
                Ok(rate) => add(&mut series, name, *role, rate),
                Err(error) => absent.push(Absent { peer: name.clone(), reason: format!("{error:#}") }),
            }
        }
    }
    let zipfs = series.iter().find(|series| series.role == Role::Zipfs);
    let promises = series
        .iter()
        .filter(|series| series.role == Role::TypeScript)
        .map(|other| {
            Promise::at_most(format!("{} ÷ zipfs", other.peer), 1.0 / 3.0, "×")
                .between(Some(other), zipfs, |other, own| other.over(own, Figure::Median))
        })
        .collect();
    Finding { promises, series, absent }
}

fn start(field: &Field, peer: &Peer) -> Result<Service> {
    match peer.role {
        Role::Zipfs => services::zipfs(field, peer),
        _ => services::over_http(field, peer),
    }
}

fn add(series: &mut Vec<Series>, peer: &str, role: Role, rate: f64) {
    match series.iter_mut().find(|series| series.peer == peer) {
        Some(known) => known.rounds.push(vec![rate]),
        None => series.push(Series { peer: peer.to_owned(), role, rounds: vec![vec![rate]] }),
    }
}
