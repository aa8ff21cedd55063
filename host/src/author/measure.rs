//! How much a plugin costs: its size, the time to make an instance and to answer a call, and the memory that takes.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::cases::Case;
use super::examples::Schema;
use super::workbench::{Workbench, failed};
use crate::failure::Failure;
use crate::sandbox::CallContext;
use crate::sandbox::exports::Visit;
use crate::sandbox::limits::Limits;

/// Rounds that come before those that count: caches fill, and pages are touched for the first time.
const WARM_UP: usize = 5;

/// Measures a plugin with so many rounds for each figure.
pub async fn measure(path: &Path, component: &Path, cases: &[Case], rounds: usize) -> Result<Value, Failure> {
    let began = Instant::now();
    let bench = Workbench::of(path, |_| ()).await?;
    let admission = began.elapsed();
    let size = std::fs::metadata(component).map_err(|error| failed(&error))?.len();
    let instances = instantiate(&bench, rounds).await?;
    let mut tools = Vec::new();
    for tool in bench.tools() {
        let case = cases.iter().find(|case| case.tool == tool.name);
        let given = case.and_then(|case| std::fs::read(case.folder.join("arguments.json")).ok());
        let root = Value::Object(tool.input_schema.clone());
        let arguments = given
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_else(|| Schema::new(&root).arguments().swap_remove(0));
        let sample = super::hostile::odd_files()?;
        let before = case.map(|case| case.folder.join("before")).filter(|before| before.is_dir());
        let session = bench.open(before.as_deref().unwrap_or(sample.path())).await?;
        let mut times = Vec::with_capacity(rounds);
        bench.witness.take_memory();
        let mut failure = None;
        for round in 0..rounds + WARM_UP {
            let began = Instant::now();
            if let Err(error) = bench.call(tool, &arguments, &session).await {
                failure.get_or_insert(error.code.into_owned());
            }
            if round >= WARM_UP {
                times.push(began.elapsed());
            }
        }
        bench.close(session).await?;
        tools.push(json!({
            "tool": tool.name, "p50_us": percentile(&mut times, 50), "p99_us": percentile(&mut times, 99),
            "memory_bytes": bench.witness.take_memory(), "case": case.map(|case| &case.name), "failed": failure,
        }));
    }
    let (mut instances, code) = (instances, code_size(&bench));
    Ok(json!({
        "plugin": bench.plugin.description.name, "size_bytes": size, "code_bytes": code,
        "admission_ms": admission.as_millis() as u64, "rounds": rounds,
        "instantiate_p50_us": percentile(&mut instances, 50), "instantiate_p99_us": percentile(&mut instances, 99), "tools": tools,
    }))
}

async fn instantiate(bench: &Workbench, rounds: usize) -> Result<Vec<Duration>, Failure> {
    let (sandbox, cancel) = (&bench.gate.sandbox, CancellationToken::new());
    let compiled = bench.plugin.compiled(sandbox, &bench.gate.cache)?;
    let mut times = Vec::with_capacity(rounds);
    for round in 0..rounds + WARM_UP {
        let limits = Limits::of_call(sandbox.limits(), false);
        let visit = Visit { sandbox, compiled: compiled.clone(), context: CallContext::default(), limits, cancel: &cancel };
        let began = Instant::now();
        visit.instantiate().await?;
        if round >= WARM_UP {
            times.push(began.elapsed());
        }
    }
    Ok(times)
}

/// What the compiled code takes on disk, and in memory once it was used.
fn code_size(bench: &Workbench) -> u64 {
    let entries = std::fs::read_dir(bench.gate.config.data.cache()).into_iter().flatten().flatten();
    let is_code = |path: &Path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(&bench.plugin.digest) && name.ends_with(".cwasm"))
    };
    entries.filter(|entry| is_code(&entry.path())).filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// In microseconds. The time that so many of a hundred calls did not pass.
fn percentile(times: &mut [Duration], percent: usize) -> u64 {
    times.sort_unstable();
    let at = (times.len() * percent).div_ceil(100).saturating_sub(1);
    times.get(at).map_or(0, |time| time.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!((percentile(&mut times, 50), percentile(&mut times, 99)), (50, 99));
        assert_eq!(percentile(&mut [Duration::from_micros(7)], 99), 7);
        assert_eq!(percentile(&mut [], 50), 0);
    }
}
