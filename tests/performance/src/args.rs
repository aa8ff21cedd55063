//! What can be typed.

use std::path::PathBuf;

use clap::Parser;

use crate::measures;

/// Measures zipfs beside its peers, in turns and in the same run, and prints how they compare.
#[derive(Parser)]
#[command(name = "zipfs-bench", version)]
pub struct Args {
    /// What to measure; everything if nothing is named, and `grep` stands for all that begin with it
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(names()))]
    pub measures: Vec<String>,

    /// Fewer rounds: seconds instead of a minute, and wider spreads
    #[arg(long)]
    pub quick: bool,

    /// Exit with 1 if a promise is broken or could not be measured
    #[arg(long)]
    pub check: bool,

    /// Where to write the results as JSON [default: target/bench/results.json]
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// First compile the peers that only exist as sources: takes minutes
    #[arg(long)]
    pub install: bool,

    /// Draw the results into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,

    /// Measure nothing: draw what this JSON holds
    #[arg(long, value_name = "FILE", requires = "plot")]
    pub from: Option<PathBuf>,

    /// The zipfs to measure [default: the one beside this program, target/release/zipfs]
    #[arg(long, value_name = "PATH")]
    pub zipfs: Option<PathBuf>,

    /// A component with a tool `noop` that returns at once, for `call`
    #[arg(long, value_name = "PATH")]
    pub noop: Option<PathBuf>,

    /// The component `faces`, which plugins are made from by exchanging names in its bytes, for `plugins`
    #[arg(long, value_name = "PATH")]
    pub faces: Option<PathBuf>,
}

/// Every measurement, and every group of several.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = measures::ALL.iter().flat_map(|measure| [measure.name, measure.group()]).collect();
    names.sort_unstable();
    names.dedup();
    names
}
