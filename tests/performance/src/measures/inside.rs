//! `inside`: a call in the process itself, through the gate and into a fresh instance, without a wire: what a sandboxed call costs.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::fixture::FILE;
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;
use crate::rounds::{Runner, take_turns};
use crate::timed;

pub const MEASURE: Measure = Measure {
    name: "inside",
    about: "a call through the gate into a fresh instance, without a wire",
    unit: "µs",
    better: Better::Lower,
    run,
};

const MOST_MICROSECONDS: f64 = 40.0;

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = race(field, effort).unwrap_or_else(|error| Finding::nobody(&error));
    let noop = finding.of(Role::Zipfs).next();
    let promise = Promise::at_most("noop in process, p50", MOST_MICROSECONDS, "µs");
    finding.promises = vec![promise.between(noop, noop, |own, _| own.spread(Figure::Median))];
    finding
}

fn race(field: &Field, effort: &Effort) -> Result<Finding> {
    let program = field.inside.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let zipfs = field.peers.iter().find(|peer| peer.role == Role::Zipfs).context("no zipfs to measure")?;
    let (mut runners, mut absent) = (Vec::new(), Vec::new());
    if let Err(reason) = &zipfs.noop {
        absent.push(Absent { peer: "noop".to_owned(), reason: reason.clone() });
    }
    let calls =
        [("noop", "noop", json!({}), Role::Zipfs), ("zipfs_read of 1 KiB", "zipfs_read", json!({"path": FILE}), Role::ZipfsCall)];
    for (name, tool, arguments, role) in calls.into_iter().skip(absent.len()) {
        let mut command = Command::new(program);
        command.args([tool, &arguments.to_string(), "--warm-up", "200", "--count", &effort.calls.to_string()]);
        command.envs(zipfs.launch.environment.iter().map(|(name, value)| (name, value)));
        runners.push(Runner { name: name.to_owned(), role, state: command });
    }
    let (series, failed) = take_turns(runners, effort.rounds, |command| {
        let printed = String::from_utf8(timed::run(command)?.1.stdout)?;
        printed.lines().map(|line| line.parse().with_context(|| format!("{line:?} is no time"))).collect()
    });
    absent.extend(failed);
    Ok(Finding { series, absent, promises: Vec::new() })
}
