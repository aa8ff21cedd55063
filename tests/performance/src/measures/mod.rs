//! What is measured, one file each. A new measurement is a file here and a line in `ALL`.

mod call;
mod command;
mod open;
mod pipelined;
mod read;
mod start;
mod sync;
mod turns;

use crate::effort::Effort;
use crate::figures::{Better, Series};
use crate::peers::{Absent, Field, Role};
use crate::promise::Promise;

/// A measurement that can be asked for.
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
    call::MEASURE,
    read::MEASURE,
    start::MEASURE,
    command::MEASURE,
    pipelined::MEASURE,
    open::SOURCE,
    open::SMALL,
    open::TEXT,
    open::STORED,
    sync::SOURCE,
    sync::STORED,
];

/// What came of a measurement.
pub struct Finding {
    pub series: Vec<Series>,
    pub absent: Vec<Absent>,
    pub promises: Vec<Promise>,
}

impl Finding {
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |series| series.role == role)
    }
}
