//! `open-…`: an archive becomes files: copied, hashed, scanned and extracted by zipfs, only extracted by the others.
//!
//! Every run gets a directory of its own. Those with many files are removed at the end of all: ext4 looks for fresh inodes around
//! those that were freed within the last half minute, and whoever came next would pay for it.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::{Finding, Measure};
use crate::archives::Set;
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;
use crate::unpackers::{self, Unpacker};

pub const SOURCE: Measure =
    measure("open-source", "an archive of 22,000 source files", |field, effort| run(Set::Source, field, effort));
pub const SMALL: Measure =
    measure("open-small", "an archive of 100,000 files of 1 KB", |field, effort| run(Set::Small, field, effort));
pub const TEXT: Measure =
    measure("open-text", "an archive of 5 texts, 500 MB in all", |field, effort| run(Set::Text, field, effort));
pub const STORED: Measure =
    measure("open-stored", "an archive of 5 files of 100 MB, not compressed", |field, effort| run(Set::Stored, field, effort));

const fn measure(name: &'static str, about: &'static str, run: fn(&Field, &Effort) -> Finding) -> Measure {
    Measure { name, about, unit: "s", better: Better::Lower, run }
}

fn run(set: Set, field: &Field, effort: &Effort) -> Finding {
    let mut finding = Finding { series: Vec::new(), absent: Vec::new(), promises: Vec::new() };
    if let Err(error) = race(set, field, effort, &mut finding) {
        finding.absent.push(Absent { peer: "everybody".to_owned(), reason: format!("{error:#}") });
    }
    let zipfs = finding.of(Role::Zipfs).next();
    let unzip = finding.of(Role::Unzip).next();
    let text = format!("zipfs ÷ unzip, {}", set.name());
    finding.promises =
        vec![Promise::at_most(text, set.promised_share(), "×").between(zipfs, unzip, |own, other| own.over(other, Figure::Median))];
    finding
}

/// Everybody once in each round, in turns.
fn race(set: Set, field: &Field, effort: &Effort, finding: &mut Finding) -> Result<()> {
    let archive = set.provide(&field.bench)?;
    let (mut unpackers, absent) = unpackers::find(field);
    finding.absent.extend(absent);
    let mut series: Vec<Series> =
        unpackers.iter().map(|it| Series { peer: it.name.clone(), role: it.role, rounds: Vec::new() }).collect();
    for round in 0..effort.unpack_rounds {
        for turn in 0..unpackers.len() {
            let place = (turn + round) % unpackers.len();
            let taken = time_one(&mut unpackers[place], &archive, set, field)?;
            series[place].rounds.push(vec![taken]);
        }
    }
    finding.series = series;
    Ok(())
}

fn time_one(unpacker: &mut Unpacker, archive: &std::path::Path, set: Set, field: &Field) -> Result<f64> {
    let target = field.scratch.path().join(format!("{}-{}", set.name(), field.next_number()));
    let mut command = unpacker.prepare(archive, &target)?;
    // What the one before wrote is on the disk before the next one starts.
    std::process::Command::new("sync").status().context("run sync")?;
    let start = Instant::now();
    let output = command.output().with_context(|| format!("run {}", unpacker.name))?;
    let taken = start.elapsed().as_secs_f64();
    if !output.status.success() {
        bail!("{} failed: {}", unpacker.name, String::from_utf8_lossy(&output.stderr).trim());
    }
    let found = std::fs::read_dir(unpacker.extracted(&target, &output)?)?.count();
    if found == 0 {
        bail!("{} extracted nothing", unpacker.name);
    }
    if set.is_few_files() {
        std::fs::remove_dir_all(&target)?;
    }
    Ok(taken)
}
