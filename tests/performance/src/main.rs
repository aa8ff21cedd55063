//! Measures zipfs beside its peers: arguments → peers → measurements → tables → exit code.
#![forbid(unsafe_code)]

mod archives;
mod args;
mod effort;
mod figures;
mod fixture;
mod machine;
mod measures;
mod opened;
mod packers;
mod peers;
mod pipe;
mod places;
mod plot;
mod promise;
mod results;
mod rounds;
mod table;
mod timed;
mod unpackers;
mod watchdog;
mod wire;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;

use args::Args;
use effort::Effort;
use fixture::Fixture;
use machine::Machine;
use measures::{Finding, Measure};
use peers::{Field, Subject};
use places::Places;

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if cfg!(debug_assertions) {
        bail!("figures of a debug build mean nothing; run `cargo run --release -p {}`", env!("CARGO_PKG_NAME"));
    }
    if let (Some(results), Some(picture)) = (&args.from, &args.plot) {
        let results = std::fs::read(results).with_context(|| format!("read {}", results.display()))?;
        std::fs::write(picture, plot::draw(&serde_json::from_slice(&results)?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let places = Places::find()?;
    places.build_siblings()?;
    if args.install {
        places.install_tools()?;
    }
    let machine = Machine::look();
    let mut out = std::io::stdout().lock();
    table::write_machine(&mut out, &machine)?;

    watchdog::start();
    let fixture = Fixture::create()?;
    let program = args.zipfs.clone().unwrap_or_else(|| places.programs.join("zipfs"));
    let field =
        Field::gather(&fixture, &places, &Subject { program, noop_plugin: args.noop.as_deref(), faces: args.faces.as_deref() })?;
    table::write_absent(&mut out, &field.absent)?;

    let effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    let mut findings = Vec::new();
    for measure in wanted(&args) {
        let finding = (measure.run)(&field, &effort);
        table::write_finding(&mut out, measure, &finding)?;
        findings.push((measure, finding));
    }
    table::write_promises(&mut out, promises(&findings))?;
    let file = args.json.clone().unwrap_or_else(|| places.bench.join("results.json"));
    let results = results::write(&file, &machine, &field.absent, &findings)?;
    if let Some(picture) = &args.plot {
        std::fs::write(picture, plot::draw(&results)).with_context(|| format!("write {}", picture.display()))?;
    }
    writeln!(out, "\nwritten to {}", file.display())?;

    let is_kept = promises(&findings).all(|(_, promise)| !promise.fails_check());
    Ok(if args.check && !is_kept { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn wanted(args: &Args) -> impl Iterator<Item = &'static Measure> {
    let names = &args.measures;
    measures::ALL
        .iter()
        .filter(move |measure| names.is_empty() || names.iter().any(|name| name == measure.name || name == measure.group()))
}

fn promises<'a>(findings: &'a [(&Measure, Finding)]) -> impl Iterator<Item = (&'a str, &'a promise::Promise)> {
    findings.iter().flat_map(|(measure, finding)| finding.promises.iter().map(|promise| (measure.name, promise)))
}
