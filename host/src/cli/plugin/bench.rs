//! `zipfs plugin bench`: what a plugin costs.

use std::path::PathBuf;

use serde_json::Value;

use crate::author::cases;
use crate::author::measure::measure;
use crate::author::project::component_in;
use crate::cli::console::Console;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory of plugin.toml, or a .wasm file.
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// How often each tool is called.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,
}

pub async fn run(console: &Console, args: &Args) -> Result<(), Failure> {
    let (component, directory) = match args.path.is_dir() {
        true => (component_in(&args.path)?, args.path.clone()),
        false => (args.path.clone(), args.path.parent().map(PathBuf::from).unwrap_or_default()),
    };
    let cases = cases::find(&directory.join("cases"))?;
    let measured = measure(&args.path, &component, &cases, args.rounds as usize).await?;
    console.show(&measured, words)
}

fn words(measured: &Value) -> String {
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let mut text = format!(
        "{}: {:.2} MB, {:.2} MB of code, admitted in {} ms, an instance in {} µs (p99 {} µs)\n",
        measured["plugin"].as_str().unwrap_or_default(),
        number(&measured["size_bytes"]) as f64 / 1e6,
        number(&measured["code_bytes"]) as f64 / 1e6,
        measured["admission_ms"],
        measured["instantiate_p50_us"],
        measured["instantiate_p99_us"],
    );
    for tool in measured["tools"].as_array().into_iter().flatten() {
        let failed = tool["failed"].as_str().map_or_else(String::new, |code| format!(", failed with {code}"));
        text += &format!(
            "  {}: p50 {} µs, p99 {} µs, {} KB of memory{failed}\n",
            tool["tool"].as_str().unwrap_or_default(),
            tool["p50_us"],
            tool["p99_us"],
            number(&tool["memory_bytes"]) / 1024,
        );
    }
    text
}
