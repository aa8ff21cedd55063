//! Damaged archives through the sandbox. Ten thousand for each seed are judged by the driver's own tests, natively.

use std::time::{Duration, Instant};

use zipfs_test_archives::mutants::Mutator;

use super::Guarded;

#[test]
fn mutants_do_not_harm_the_host() {
    let guarded = Guarded::start();
    let seeds: Vec<Vec<u8>> = zipfs_test_archives::all().into_iter().map(|case| case.bytes).filter(|it| it.len() < 4096).collect();
    for seed in [1, 2, 3] {
        let mut mutator = Mutator::new(seed);
        for number in 0..100 {
            let mutant = mutator.mutant(&seeds);
            let open = || {
                let began = Instant::now();
                let reply = guarded.open(&format!("mutant {number} of seed {seed}"), &mutant);
                let took = began.elapsed();
                if reply.0["result"]["isError"] != serde_json::json!(true) {
                    guarded.close();
                }
                took
            };
            // Twice, since the machine may be busy with something else.
            let took = open();
            assert!(took < Duration::from_secs(1) || open() < Duration::from_secs(1), "mutant {number} of seed {seed}: {took:?}");
        }
    }
    guarded.check_surroundings();
    assert!(guarded.server.process().peak_memory() < 256 << 20);
}
