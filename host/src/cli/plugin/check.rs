//! `zipfs plugin check`: what can be seen without running the tools.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use crate::author::findings::{Finding, Severity, find};
use crate::author::project::component_in;
use crate::cli::console::Console;
use crate::cli::output::{print, print_json, shown};
use crate::config::DataDir;
use crate::failure::{Class, Failure};
use crate::plugins::admission::examine_ambient;
use crate::plugins::cache::Cache;
use crate::plugins::manifest::Manifest;
use crate::sandbox::{Sandbox, Shape};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory of plugin.toml, or a .wasm file.
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Fail also over what could merely be better.
    #[arg(long)]
    pub strict: bool,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let place = tempfile::tempdir().map_err(|error| Failure::internal(format!("No temporary directory: {error}.")))?;
    let sandbox = Sandbox::new(Shape::Command, &console.config.settings.calls)
        .map_err(|error| Failure::internal(format!("The sandbox cannot be made: {error:#}.")))?;
    // What does not pass here is refused when it is added, in the same words.
    let cache = Cache::new(&DataDir::at(place.path()), Arc::default());
    let candidate = examine_ambient(&args.path, &Arc::new(sandbox), &cache).await?;
    let component = if args.path.is_dir() { component_in(&args.path)? } else { args.path.clone() };
    let wasm =
        std::fs::read(&component).map_err(|error| Failure::invalid(format!("{} cannot be read: {error}.", component.display())))?;
    let manifest: Option<&Manifest> = args.path.is_dir().then_some(&candidate.manifest);
    let findings = find(&candidate.description, manifest, &wasm);
    let problems = findings.iter().filter(|finding| finding.severity == Severity::Problem || args.strict).count();
    let (name, tools) = (&candidate.description.name, candidate.description.tools.len());
    if console.json {
        print_json(&json!({"plugin": name, "tools": tools, "size_bytes": wasm.len(), "problems": problems,
                           "findings": findings.iter().map(as_json).collect::<Vec<_>>()}))?;
    } else if !console.quiet {
        for finding in &findings {
            print(&shown(&line(finding)))?;
        }
        print(&format!("{name}: {tools} tools, {:.2} MB, {}.\n", wasm.len() as f64 / 1e6, counted(&findings)))?;
    }
    match problems {
        0 => Ok(()),
        count => Err(Failure::new(Class::Invalid, "CHECK_FAILED", format!("{count} things are to be put right."))),
    }
}

fn line(finding: &Finding) -> String {
    format!("{}: {}: {}. {}.\n", word(finding.severity), finding.about, finding.what, finding.advice)
}

fn as_json(finding: &Finding) -> serde_json::Value {
    json!({"severity": word(finding.severity), "about": finding.about, "what": finding.what, "advice": finding.advice})
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Problem => "problem",
        Severity::Advice => "advice",
    }
}

fn counted(findings: &[Finding]) -> String {
    let of = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    match (of(Severity::Problem), of(Severity::Advice)) {
        (0, 0) => "nothing to put right".into(),
        (problems, advice) => format!("{problems} problems, {advice} pieces of advice"),
    }
}
