//! `binary`: how large the program is, with its tools, its compiler and everything, once symbols are stripped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;
use crate::timed;

pub const MEASURE: Measure =
    Measure { name: "binary", about: "size of the program on disk, stripped", unit: "MB", better: Better::Lower, run };

const MOST: f64 = 40.0;

fn run(field: &Field, _: &Effort) -> Finding {
    let mut finding = Finding { series: Vec::new(), absent: Vec::new(), promises: Vec::new() };
    // Servers in a language of scripts have no binary of their own to compare.
    let servers = field.peers.iter().filter(|peer| !matches!(peer.role, Role::Floor | Role::TypeScript));
    for peer in servers {
        match stripped_size(&peer.launch.program, field.scratch.path()) {
            Ok(size) => finding.series.push(Series { peer: peer.name.clone(), role: peer.role, rounds: vec![vec![size]] }),
            Err(error) => finding.absent.push(Absent { peer: peer.name.clone(), reason: format!("{error:#}") }),
        }
    }
    let zipfs = finding.of(Role::Zipfs).next();
    let promise = Promise::at_most("zipfs, stripped", MOST, "MB");
    finding.promises = vec![promise.between(zipfs, zipfs, |own, _| own.spread(Figure::Median))];
    finding
}

fn stripped_size(program: &Path, scratch: &Path) -> Result<f64> {
    let stripped: PathBuf = scratch.join("stripped");
    timed::run(Command::new("strip").arg("-o").arg(&stripped).arg(program)).context("strip")?;
    let size = std::fs::metadata(&stripped)?.len();
    std::fs::remove_file(&stripped)?;
    Ok(size as f64 / 1e6)
}
