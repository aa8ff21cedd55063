//! `sync-…`: one small file of a large archive was changed, and goes back into it: found, compressed, verified, flushed and with the
//! old archive kept by zipfs; named to the others, which do none of that. The floor copies and flushes the archive and does nothing
//! else.

use anyhow::{Context, Result};

use super::{Finding, Measure};
use crate::archives::Set;
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::packers::{self, Packer};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;

pub const SOURCE: Measure = measure("sync-source", "one small file changed in an archive of 22,000 entries", |field, effort| {
    run(Set::Source, field, effort)
});
pub const STORED: Measure = measure("sync-stored", "one file changed in an archive of 500 MB, not compressed", |field, effort| {
    run(Set::Mixed, field, effort)
});

const fn measure(name: &'static str, about: &'static str, run: fn(&Field, &Effort) -> Finding) -> Measure {
    Measure { name, about, unit: "s", better: Better::Lower, run }
}

/// Whose time is held against whose, how many times the other's it may be, and whether that is checked. A command starts anew and
/// ends with what it gives back to the kernel; an agent's call does neither.
fn promised(set: Set) -> &'static [(Role, Role, f64, bool)] {
    use Role::{Floor, Recompress, SevenZipUpdate, ZipUpdate, Zipfs, ZipfsCall};
    match set {
        Set::Source => &[
            (Zipfs, Recompress, 1.0 / 15.0, true),
            (Zipfs, ZipUpdate, 1.3, false),
            (ZipfsCall, ZipUpdate, 1.3, true),
            (ZipfsCall, SevenZipUpdate, 1.0 / 3.0, false),
        ],
        // About the floor on a filesystem that does not share blocks.
        _ => &[(Zipfs, Floor, 1.3, true), (ZipfsCall, ZipUpdate, 0.5, false), (ZipfsCall, SevenZipUpdate, 1.0 / 3.0, false)],
    }
}

fn run(set: Set, field: &Field, effort: &Effort) -> Finding {
    let mut finding = Finding { series: Vec::new(), absent: Vec::new(), promises: Vec::new() };
    if let Err(error) = race(set, field, effort, &mut finding) {
        finding.absent.push(Absent { peer: "everybody".to_owned(), reason: format!("{error:#}") });
    }
    let promises = promised(set).iter().map(|&(own, other, most, is_checked)| {
        let text = format!("{} ÷ {}, {}", own.directory(), other.directory(), set.name());
        let (own, other) = (finding.of(own).next(), finding.of(other).next());
        let promise = Promise::at_most(text, most, "×").between(own, other, |own, other| own.over(other, Figure::Median));
        if is_checked { promise } else { promise.not_checked() }
    });
    finding.promises = promises.collect();
    finding
}

/// Everybody once in each round, in turns.
fn race(set: Set, field: &Field, effort: &Effort, finding: &mut Finding) -> Result<()> {
    let archive = set.provide(&field.bench)?;
    let directory = field.scratch.path().join(format!("sync-{}", set.name()));
    let (mut packers, absent) = packers::find(field, set, &archive, &directory)?;
    finding.absent.extend(absent);
    let mut series: Vec<Series> =
        packers.iter().map(|it| Series { peer: it.name.to_owned(), role: it.role, rounds: Vec::new() }).collect();
    for round in 0..effort.sync_rounds {
        for turn in 0..packers.len() {
            let place = (turn + round) % packers.len();
            series[place].rounds.push(vec![time_one(&mut packers[place], round)?]);
        }
    }
    finding.series = series;
    drop(packers);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}

fn time_one(packer: &mut Packer, round: usize) -> Result<f64> {
    packer.change(round)?;
    // What the one before wrote is on the disk before the next one starts.
    std::process::Command::new("sync").status().context("run sync")?;
    let taken = packer.pack()?;
    packer.check(round)?;
    Ok(taken.as_secs_f64())
}
