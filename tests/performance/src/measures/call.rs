//! `call`: what the sandbox, the gate and the audit add to a call that does nothing.

use super::turns::take_turns;
use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::peers::{Field, Role};
use crate::promise::Promise;

pub const MEASURE: Measure = Measure {
    name: "call",
    about: "a tool that does nothing, one call at a time over stdio",
    unit: "µs",
    better: Better::Lower,
    run,
};

/// What a sandboxed call may cost more than one in the server's own process.
const MOST_ADDED_MICROSECONDS: f64 = 100.0;

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = take_turns(field, effort, |peer| &peer.noop);
    let promise = Promise::at_most("zipfs − native, p50", MOST_ADDED_MICROSECONDS, "µs").between(
        finding.of(Role::Zipfs).next(),
        finding.of(Role::Native).next(),
        |zipfs, native| zipfs.minus(native, Figure::Median),
    );
    finding.promises.push(promise);
    finding
}
