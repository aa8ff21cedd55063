//! What is measured, one file each. A new measurement is a file here and a line in `ALL`.

mod binary;
mod call;
mod command;
mod grep;
mod growth;
mod http;
mod inside;
mod memory;
mod open;
mod pipelined;
mod plugins;
mod read;
mod read_large;
mod start;
mod status;
mod sync;
mod turns;

use crate::effort::Effort;
use crate::figures::{Better, Series};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;

/// A measurement that can be asked for.
#[derive(Clone, Copy)]
pub struct Measure {
    pub name: &'static str,
    /// What is timed, in one sentence.
    pub about: &'static str,
    /// Of every number in the table.
    pub unit: &'static str,
    pub better: Better,
    pub run: fn(&Field, &Effort) -> Finding,
}

/// In the order in which they run.
pub const ALL: &[Measure] = &[
    inside::MEASURE,
    call::MEASURE,
    read::MEASURE,
    start::MEASURE,
    command::MEASURE,
    plugins::MEASURE,
    pipelined::MEASURE,
    http::MEASURE,
    open::SOURCE,
    open::SMALL,
    open::TEXT,
    open::STORED,
    sync::SOURCE,
    sync::STORED,
    status::MEASURE,
    grep::ALL[0],
    grep::ALL[1],
    grep::ALL[2],
    grep::ALL[3],
    grep::ALL[4],
    grep::ALL[5],
    grep::ALL[6],
    grep::ALL[7],
    read_large::MEASURE,
    memory::MEASURE,
    binary::MEASURE,
    growth::MEASURE,
];

impl Measure {
    /// The part of the name before the first hyphen: `grep` stands for all that begin with it.
    pub fn group(&self) -> &'static str {
        self.name.split('-').next().unwrap_or(self.name)
    }
}

/// What came of a measurement.
pub struct Finding {
    pub series: Vec<Series>,
    pub absent: Vec<Absent>,
    pub promises: Vec<Promise>,
}

impl Finding {
    /// Of a measurement that could not begin.
    pub fn nobody(error: &anyhow::Error) -> Self {
        let absent = vec![Absent { peer: "everybody".to_owned(), reason: format!("{error:#}") }];
        Finding { series: Vec::new(), absent, promises: Vec::new() }
    }

    pub fn of(&self, role: Role) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |series| series.role == role)
    }
}
