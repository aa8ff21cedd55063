//! The results for a program: everything the tables say, with the figures of each round.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::figures::{Figure, Series};
use crate::machine::Machine;
use crate::measures::{Finding, Measure};
use crate::peers::{Absent, Role};
use crate::promise::Promise;

pub fn write(path: &Path, machine: &Machine, absent: &[Absent], findings: &[(&Measure, Finding)]) -> Result<Value> {
    let measures: Vec<Value> = findings.iter().map(|(measure, finding)| render_finding(measure, finding)).collect();
    let results = json!({"machine": machine, "not_measured": absent, "measures": measures});
    let text = serde_json::to_string_pretty(&results)? + "\n";
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(results)
}

fn render_finding(measure: &Measure, finding: &Finding) -> Value {
    let zipfs = finding.of(Role::Zipfs).next();
    json!({
        "name": measure.name,
        "about": measure.about,
        "unit": measure.unit,
        "better": measure.better,
        "peers": finding.series.iter().map(|series| render_series(measure, series, zipfs)).collect::<Vec<_>>(),
        "not_measured": finding.absent,
        "promises": finding.promises.iter().map(render_promise).collect::<Vec<_>>(),
    })
}

fn render_series(measure: &Measure, series: &Series, zipfs: Option<&Series>) -> Value {
    let mut rendered = json!({
        "peer": series.peer,
        "role": series.role,
        "samples": series.rounds.iter().map(Vec::len).sum::<usize>(),
        "best": series.best(measure.better),
        "p50": render_figure(series, zipfs, Figure::Median),
    });
    if series.has_tail() {
        rendered["p99"] = render_figure(series, zipfs, Figure::P99);
    }
    rendered
}

fn render_figure(series: &Series, zipfs: Option<&Series>, figure: Figure) -> Value {
    let ratio = zipfs.map(|zipfs| zipfs.over(series, figure));
    json!({"over_rounds": series.spread(figure), "rounds": series.by_round(figure), "zipfs_over_it": ratio})
}

fn render_promise(promise: &Promise) -> Value {
    json!({
        "text": promise.text,
        "limit": promise.limit,
        "unit": promise.unit,
        "found": promise.found,
        "verdict": promise.verdict(),
        "checked": promise.is_checked,
    })
}
