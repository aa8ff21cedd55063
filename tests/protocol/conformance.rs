//! The official conformance suite, against `zipfs serve` with the component `components/conformance` behind it.
//!
//! It needs Node 22, which npm brings; without npm the test says that it did not run. `just conformance` prints what each scenario
//! came to.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Serving, Zipfs, component, skipped};

const PACKAGES: [&str; 2] = ["node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12"];

/// What is run, and how many scenarios there are at least: a suite that finds nothing to test must not count as passed.
const SUITES: [(&str, &[&str], usize); 3] = [
    ("2025-11-25", &["--suite", "all", "--spec-version", "2025-11-25"], 33),
    ("2026-07-28", &["--suite", "all", "--spec-version", "2026-07-28"], 40),
    ("extensions", &["--suite", "pending"], 10),
];

/// Checks that the suite itself does not run, and why.
const NOT_RUN: [(&str, &str); 2] =
    [("sep-2640", "the extension for skills is not offered"), ("tasks-status-notifications", "the suite has no check for it yet")];

/// Installs the suite once, into the target directory.
fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/conformance");
    let bin = folder.join("node_modules/.bin");
    if bin.join("conformance").exists() && bin.join("node").exists() {
        return Ok(bin);
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let installed = Command::new("npm")
        .current_dir(&folder)
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix", "."])
        .args(PACKAGES)
        .output()
        .map_err(|error| format!("npm cannot be run: {error}"))?;
    match installed.status.success() {
        true => Ok(bin),
        false => Err(format!("npm install failed: {}", String::from_utf8_lossy(&installed.stderr))),
    }
}

#[test]
fn the_official_suite_passes_in_both_eras_and_for_tasks() {
    let bin = match install() {
        Ok(bin) => bin,
        Err(why) => return skipped(&format!("the conformance suite could not be installed: {why}")),
    };
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("config.json"), json!({"tasks": {"after_ms": 1500}}).to_string()).unwrap();
    let plugin = component("zipfs-conformance");
    Zipfs(data.path()).ok(&["plugin", "add", "--yes", plugin.to_str().unwrap()]);
    let serving = Serving::start(Zipfs(data.path()).command());
    for (name, arguments, least) in SUITES {
        let results = data.path().join(name);
        let output = Command::new(bin.join("conformance"))
            .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default()))
            .args(["server", "--url", &format!("http://localhost:{}/mcp", serving.port), "-o", results.to_str().unwrap()])
            .args(arguments)
            .output()
            .expect("the suite can be run");
        let scenarios = scenarios(&results);
        let mut wrong = Vec::new();
        let mut passed = 0;
        for (scenario, checks) in &scenarios {
            for check in checks {
                let id = check["id"].as_str().unwrap_or_default();
                match check["status"].as_str() {
                    Some("SUCCESS" | "INFO") => passed += 1,
                    Some("SKIPPED") if is_not_run(scenario, id) => {}
                    _ => wrong.push(format!("{scenario}: {id} {}: {}", check["status"], check["errorMessage"])),
                }
            }
        }
        eprintln!("{name}: {} scenarios, {passed} checks passed, {} did not", scenarios.len(), wrong.len());
        assert!(wrong.is_empty(), "{name}: {}\n{}", wrong.join("\n"), String::from_utf8_lossy(&output.stderr));
        assert!(scenarios.len() >= least, "{name}: {} scenarios\n{}", scenarios.len(), String::from_utf8_lossy(&output.stdout));
    }
}

/// What is skipped has a reason that we know, or the suite skips it where the revision has no such thing.
fn is_not_run(scenario: &str, id: &str) -> bool {
    NOT_RUN.iter().any(|(name, _)| scenario.contains(name) || id.contains(name)) || id.starts_with("sep-2106-")
}

fn scenarios(results: &Path) -> Vec<(String, Vec<Value>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(results).into_iter().flatten().flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path().join("checks.json")) else { continue };
        let checks: Vec<Value> = serde_json::from_str(&text).expect("checks are JSON");
        found.push((entry.file_name().to_string_lossy().into_owned(), checks));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
