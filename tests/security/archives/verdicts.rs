//! The list of odd and hostile archives.

use zipfs_test_archives::all;

use super::{Guarded, missed};

/// What the host may need at most while it deals with hostile archives. The guests' own memory is in it.
const MOST_MEMORY: u64 = 256 << 20;
/// What may remain of it.
const MOST_GROWTH: u64 = 48 << 20;

#[test]
fn every_verdict_is_met_and_nothing_else_happens() {
    let guarded = Guarded::start();
    // What only the first call needs is not growth.
    guarded.open("an ordinary archive", &crate::support::zip(&[("a", "1")])).value();
    guarded.close();
    let process = guarded.server.process();
    let before = process.memory();
    let mut misses = Vec::new();
    let cases = all();
    for case in &cases {
        let reply = guarded.open(&case.name, &case.bytes);
        misses.extend(missed(case.verdict, &reply).map(|miss| format!("{}: {miss}", case.name)));
        if reply.0["result"]["isError"] != serde_json::json!(true) {
            guarded.close();
        }
    }
    assert!(misses.is_empty(), "{} of {} missed:\n{}", misses.len(), cases.len(), misses.join("\n"));
    guarded.check_surroundings();
    let (grown, peak) = (process.memory().saturating_sub(before), process.peak_memory());
    assert!(grown < MOST_GROWTH, "the host grew by {grown} bytes");
    assert!(peak < MOST_MEMORY, "the host needed {peak} bytes");
}
