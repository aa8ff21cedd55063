//! `status`: whether anything changed among many files of which none did, beside a walk that only looks at them.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Finding, Measure};
use crate::archives::Set;
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::opened::{NAME, Opened};
use crate::peers::{Field, Role};
use crate::pipe::Pipe;
use crate::promise::Promise;
use crate::rounds::{Runner, take_turns};
use crate::timed;
use crate::wire::Request;

pub const MEASURE: Measure = Measure {
    name: "status",
    about: "22,000 files of which none changed, beside a process that only looks at each of them",
    unit: "ms",
    better: Better::Lower,
    run,
};

/// Next to a bare walk. A status also compares each file with what is known of it.
const MOST_TIMES: f64 = 2.0;

enum Turn {
    Command(Command),
    Call(Box<Pipe>, Request),
}

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = match race(field, effort) {
        Ok(finding) => finding,
        Err(error) => Finding::nobody(&error),
    };
    let (zipfs, floor) = (finding.of(Role::Zipfs).next(), finding.of(Role::Native).next());
    let promise = Promise::at_most("zipfs status ÷ stat walk, p50", MOST_TIMES, "×");
    finding.promises = vec![promise.between(zipfs, floor, |own, other| own.over(other, Figure::Median))];
    finding
}

fn race(field: &Field, effort: &Effort) -> Result<Finding> {
    let opened = Opened::with(field, "status", &Set::Source.provide(&field.bench)?)?;
    let status = || opened.command(["status", NAME, "--json"]);
    let mut walk = Command::new(field.sibling("stat-walk")?);
    walk.arg(&opened.contents);

    let (_, said) = timed::run(&mut status())?;
    let said: Value = serde_json::from_slice(&said.stdout)?;
    let (_, walked) = timed::run(&mut walk)?;
    let walked = String::from_utf8(walked.stdout)?;
    let walked: u64 = walked.split(' ').next().context("no count")?.parse()?;
    ensure!(said["unchanged_count"] == walked, "status speaks of {} files, the walk of {walked}", said["unchanged_count"]);

    let mut pipe = Pipe::connect(&opened.server())?;
    let call = Request::call("zipfs_status", &json!({})).proven_by("unchanged_count");
    pipe.ask(&call)?;
    let runners = vec![
        Runner { name: "zipfs status".to_owned(), role: Role::Zipfs, state: Turn::Command(status()) },
        Runner { name: "zipfs_status over stdio".to_owned(), role: Role::ZipfsCall, state: Turn::Call(Box::new(pipe), call) },
        Runner { name: "stat walk, native".to_owned(), role: Role::Native, state: Turn::Command(walk) },
    ];
    let (series, absent) = take_turns(runners, effort.walk_rounds, |turn| {
        let mut times = Vec::new();
        for _ in 0..effort.walks {
            let taken = match turn {
                Turn::Command(command) => timed::run(command)?.0,
                Turn::Call(pipe, request) => pipe.ask(request)?,
            };
            times.push(taken.as_secs_f64() * 1e3);
        }
        Ok(times)
    });
    opened.remove()?;
    Ok(Finding { series, absent, promises: Vec::new() })
}
