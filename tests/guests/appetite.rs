//! Takes so much memory or time as it is told to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::{About, Error, Plugin, Tool};

struct Appetite;

impl Plugin for Appetite {
    fn about() -> About {
        About::new("appetite", "0.1.0")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("appetite_memory", "Takes memory. Returns {taken}.", memory),
            Tool::new("appetite_time", "Waits. Returns {taken}.", time),
            Tool::new("appetite_cpu", "Computes. Returns {taken}.", cpu),
            zipfs_guests::harmless("appetite_ok"),
        ]
    }
}

zipfs_sdk::export!(Appetite);

#[derive(Deserialize, JsonSchema)]
struct Much {
    /// MiB or milliseconds.
    amount: u64,
}

#[derive(Serialize, JsonSchema)]
struct Taken {
    taken: u64,
}

fn memory(much: Much) -> Result<Taken, Error> {
    let taken = vec![1_u8; (much.amount as usize) << 20];
    Ok(Taken { taken: std::hint::black_box(taken).len() as u64 })
}

fn time(much: Much) -> Result<Taken, Error> {
    std::thread::sleep(std::time::Duration::from_millis(much.amount));
    Ok(Taken { taken: much.amount })
}

fn cpu(much: Much) -> Result<Taken, Error> {
    let until = std::time::Instant::now() + std::time::Duration::from_millis(much.amount);
    let mut taken = 0;
    while std::time::Instant::now() < until {
        taken += 1;
    }
    Ok(Taken { taken })
}
