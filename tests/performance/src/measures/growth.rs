//! `growth`: how the time of an operation grows with entries, bytes, changed files and sessions.
//!
//! Each operation is timed at several sizes, all sizes in every round, and the exponent is the slope of the line that fits best
//! where both axes are logarithmic: 0 is flat, 1 is in proportion. What does not depend on the size lowers it, so an exponent near
//! its limit is a cost that grows, and a low one at these sizes is no proof for larger ones.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series, Spread, spread_of};
use crate::opened::{NAME, Opened};
use crate::peers::{Absent, Field, Role};
use crate::pipe::{Launch, Pipe};
use crate::promise::Promise;
use crate::wire::Request;

pub const MEASURE: Measure = Measure {
    name: "growth",
    about: "each operation over stdio at four sizes of what it could depend on",
    unit: "ms",
    better: Better::Lower,
    run,
};

/// An exponent of at most that is flat: over the sizes measured, a time that doubles would be 0.1 or more.
const FLAT: f64 = 0.15;

/// In proportion, and what caches and noise add to it.
const LINEAR: f64 = 1.1;

/// What grows, to which sizes, and what may become of whom.
struct Axis {
    of: &'static str,
    sizes: [usize; 4],
    prepare: fn(&Field, usize) -> Result<Bed>,
    operations: &'static [(&'static str, f64)],
}

const AXES: [Axis; 4] = [
    Axis {
        of: "entries",
        sizes: [250, 1000, 4000, 16_000],
        prepare: |field, size| Bed::with_archive(field, |zip| write_files(zip, size), 1),
        operations: &[("open", LINEAR), ("ls", FLAT), ("call", FLAT), ("status", LINEAR), ("grep", LINEAR), ("sync", LINEAR)],
    },
    Axis {
        of: "bytes",
        sizes: [2 << 20, 8 << 20, 32 << 20, 128 << 20],
        prepare: |field, size| Bed::with_archive(field, |zip| write_noise(zip, size), 1),
        operations: &[("open", LINEAR), ("ls", FLAT), ("call", FLAT), ("status", FLAT), ("sync", LINEAR)],
    },
    Axis {
        of: "changed files",
        sizes: [4, 16, 64, 256],
        prepare: |field, size| Bed::with_archive(field, |zip| write_files(zip, 4000), size),
        operations: &[("status", LINEAR), ("sync", LINEAR)],
    },
    Axis {
        of: "sessions",
        sizes: [4, 16, 64, 256],
        prepare: with_sessions,
        operations: &[("start", FLAT), ("ls", FLAT), ("call", FLAT), ("status", FLAT)],
    },
];

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = Finding { series: Vec::new(), absent: Vec::new(), promises: Vec::new() };
    for axis in &AXES {
        if let Err(error) = measure(axis, field, effort.growth_rounds, &mut finding) {
            finding.absent.push(Absent { peer: format!("by {}", axis.of), reason: format!("{error:#}") });
        }
    }
    finding
}

fn measure(axis: &Axis, field: &Field, rounds: usize, finding: &mut Finding) -> Result<()> {
    let mut beds = axis.sizes.iter().map(|size| (axis.prepare)(field, *size)).collect::<Result<Vec<_>>>()?;
    for (operation, limit) in axis.operations {
        let series =
            |size: &usize| Series { peer: format!("{operation}, {size} {}", axis.of), role: Role::ZipfsCall, rounds: Vec::new() };
        let mut all: Vec<Series> = axis.sizes.iter().map(series).collect();
        for round in 0..rounds + 1 {
            for (bed, series) in beds.iter_mut().zip(&mut all) {
                let taken = bed.time(operation).with_context(|| format!("{operation} by {}", axis.of))?;
                // The first time fills caches, and is nobody's figure.
                if round > 0 {
                    series.rounds.push(vec![taken * 1e3]);
                }
            }
        }
        let mut promise = Promise::at_most(format!("exponent of {operation} by {}", axis.of), *limit, "");
        promise.found = Some(exponent(&axis.sizes, &all));
        finding.promises.push(promise);
        finding.series.extend(all);
    }
    beds.into_iter().try_for_each(|bed| bed.opened.remove())
}

/// The slope, by the medians; and its range over the rounds.
fn exponent(sizes: &[usize], all: &[Series]) -> Spread {
    let fit = |times: Vec<f64>| slope(&sizes.iter().map(|size| *size as f64).zip(times).collect::<Vec<_>>());
    let rounds = all.iter().map(|series| series.rounds.len()).min().unwrap_or(0);
    let by_round = (0..rounds).map(|round| fit(all.iter().map(|series| series.by_round(Figure::Median)[round]).collect()));
    Spread { median: fit(all.iter().map(|series| series.spread(Figure::Median).median).collect()), ..spread_of(by_round) }
}

/// Least squares through the logarithms.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0.ln() / count, y + point.1.ln() / count));
    let above: f64 = points.iter().map(|point| (point.0.ln() - x) * (point.1.ln() - y)).sum();
    above / points.iter().map(|point| (point.0.ln() - x).powi(2)).sum::<f64>()
}

/// What the operations of one size work on.
struct Bed {
    opened: Opened,
    archive: std::path::PathBuf,
    pipe: Pipe,
    launch: Launch,
    /// How many files are changed before a sync.
    changes: usize,
    turn: usize,
}

impl Bed {
    fn with_archive(field: &Field, write: impl FnOnce(&mut Zip) -> Result<()>, changes: usize) -> Result<Bed> {
        let archive = field.scratch.path().join(format!("growth-{}.zip", field.next_number()));
        make(&archive, write)?;
        Bed::on(Opened::with(field, "growth", &archive)?, archive, changes)
    }

    fn on(opened: Opened, archive: std::path::PathBuf, changes: usize) -> Result<Bed> {
        let launch = opened.server();
        Ok(Bed { pipe: Pipe::connect(&launch)?, opened, archive, launch, changes, turn: 0 })
    }

    /// Seconds.
    fn time(&mut self, operation: &str) -> Result<f64> {
        let ask = |pipe: &mut Pipe, tool: &str, arguments: Value| -> Result<f64> {
            Ok(pipe.ask(&Request::call(tool, &arguments))?.as_secs_f64())
        };
        // A single call is as long as a hiccup of the machine, so short ones are asked several times.
        let often = |pipe: &mut Pipe, tool: &str, arguments: Value| -> Result<f64> {
            let mut times = (0..51).map(|_| ask(pipe, tool, arguments.clone())).collect::<Result<Vec<_>>>()?;
            times.sort_by(f64::total_cmp);
            Ok(times[times.len() / 2])
        };
        match operation {
            "open" => {
                let taken = ask(&mut self.pipe, "zipfs_open", json!({"path": self.archive, "name": "other"}))?;
                ask(&mut self.pipe, "zipfs_close", json!({"session": "other", "sync": false}))?;
                Ok(taken)
            }
            "ls" => often(&mut self.pipe, "zipfs_ls", json!({"session": NAME})),
            "call" => often(&mut self.pipe, "zipfs_read", json!({"session": NAME, "path": "note.txt"})),
            "grep" => ask(&mut self.pipe, "zipfs_grep", json!({"session": NAME, "pattern": "nowhere in it"})),
            "status" => {
                // Several changed files where that is the question, and none elsewhere.
                if self.changes > 1 {
                    self.change()?;
                }
                ask(&mut self.pipe, "zipfs_status", json!({"session": NAME}))
            }
            "sync" => {
                self.change()?;
                ask(&mut self.pipe, "zipfs_sync", json!({"session": NAME}))
            }
            "start" => {
                let start = Instant::now();
                let mut pipe = Pipe::connect(&self.launch)?;
                pipe.ask(&Request::list_tools())?;
                Ok(start.elapsed().as_secs_f64())
            }
            other => anyhow::bail!("no operation {other}"),
        }
    }

    fn change(&mut self) -> Result<()> {
        self.turn += 1;
        let text = format!("The text of turn {}.\n", self.turn);
        if self.changes == 1 {
            return Ok(std::fs::write(self.opened.contents.join("note.txt"), text)?);
        }
        (0..self.changes).try_for_each(|number| Ok(std::fs::write(self.opened.contents.join(file_name(number)), &text)?))
    }
}

fn with_sessions(field: &Field, count: usize) -> Result<Bed> {
    let archive = field.scratch.path().join(format!("growth-{}.zip", field.next_number()));
    make(&archive, |zip| write_files(zip, 10))?;
    let opened = Opened::with(field, "growth", &archive)?;
    let mut bed = Bed::on(opened, archive, 1)?;
    for number in 1..count {
        bed.pipe.ask(&Request::call("zipfs_open", &json!({"path": bed.archive, "name": format!("s{number}")})))?;
    }
    Ok(bed)
}

type Zip = ZipWriter<std::io::BufWriter<std::fs::File>>;

fn make(path: &Path, write: impl FnOnce(&mut Zip) -> Result<()>) -> Result<()> {
    let mut zip = ZipWriter::new(std::io::BufWriter::new(std::fs::File::create(path)?));
    let options = SimpleFileOptions::default();
    zip.start_file("note.txt", options)?;
    zip.write_all(b"A note.\n")?;
    write(&mut zip)?;
    zip.finish()?.flush()?;
    Ok(())
}

/// A hundred in each directory, and all of them below one, so that the root stays as it is.
fn file_name(number: usize) -> String {
    format!("files/{}/{number}.txt", number / 100)
}

fn write_files(zip: &mut Zip, count: usize) -> Result<()> {
    for number in 0..count {
        zip.start_file(file_name(number), SimpleFileOptions::default())?;
        writeln!(zip, "This is file {number}, and there is little in it.")?;
    }
    Ok(())
}

fn write_noise(zip: &mut Zip, size: usize) -> Result<()> {
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("noise.bin", stored)?;
    let mut state = 1u64;
    for _ in 0..size / 8 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        zip.write_all(&(state ^ state >> 29).to_le_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_the_curve() {
        let of = |curve: fn(f64) -> f64| slope(&[1.0, 10.0, 100.0].map(|x| (x, curve(x))));
        assert!((of(|x| 3.0 * x) - 1.0).abs() < 1e-9);
        assert!((of(|x| 0.5 * x * x) - 2.0).abs() < 1e-9);
        assert!(of(|_| 7.0).abs() < 1e-9);
    }
}
