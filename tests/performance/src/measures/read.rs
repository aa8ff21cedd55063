//! `read`: a small file read by an agent, through the sandbox and through servers that have none.

use super::turns::take_turns;
use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::peers::{Field, Role};
use crate::promise::Promise;

pub const MEASURE: Measure =
    Measure { name: "read", about: "a text file of 1 KiB, one call at a time over stdio", unit: "µs", better: Better::Lower, run };

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = take_turns(field, effort, |peer| &peer.read);
    finding.promises = promise_to_beat_typescript(&finding);
    finding
}

/// Lower than the TypeScript server under every Node there is, in the middle and in the tail.
fn promise_to_beat_typescript(finding: &Finding) -> Vec<Promise> {
    let zipfs = finding.of(Role::Zipfs).next();
    let figures = [(Figure::Median, "p50"), (Figure::P99, "p99")];
    let mut promises = Vec::new();
    for (figure, name) in figures {
        for peer in finding.of(Role::TypeScript) {
            let text = format!("zipfs ÷ {}, {name}", peer.peer);
            promises.push(Promise::at_most(text, 1.0, "×").between(zipfs, Some(peer), |own, other| own.over(other, figure)));
        }
        if finding.of(Role::TypeScript).next().is_none() {
            let text = format!("zipfs ÷ TypeScript server, {name}");
            promises.push(Promise::at_most(text, 1.0, "×").between(zipfs, None, |own, other| own.over(other, figure)));
        }
    }
    promises
}
