//! Commands, run to their end with the clock beside them.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Runs a command that must succeed, and says how long it took from its start to the end of its output.
pub fn run(command: &mut Command) -> Result<(Duration, Output)> {
    let (taken, output) = run_whatever_it_says(command)?;
    if output.status.success() {
        return Ok((taken, output));
    }
    bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim())
}

/// The same for commands that end with 1 to say that they found nothing.
pub fn search(command: &mut Command) -> Result<(Duration, Output)> {
    let (taken, output) = run_whatever_it_says(command)?;
    match output.status.code() {
        Some(0 | 1) => Ok((taken, output)),
        _ => bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

fn run_whatever_it_says(command: &mut Command) -> Result<(Duration, Output)> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("run {command:?}"))?;
    Ok((start.elapsed(), output))
}
