//! Calls a tool through the gate in this process, as often as is asked, and prints how long each call took in microseconds.
//!
//! One thread, no wire: what is left is the gate, the sandbox and the tool. The same calls are counted by callgrind.
#![forbid(unsafe_code)]

use std::io::Write;
use std::time::Instant;

use clap::Parser;
use serde_json::{Map, Value};
use zipfs::config::Config;
use zipfs::gate::{Answer, Call, Gate};
use zipfs::sandbox::Shape;

#[derive(Parser)]
struct Args {
    tool: String,
    /// An object
    arguments: String,
    #[arg(long, default_value_t = 100)]
    count: usize,
    /// Calls before that are not timed
    #[arg(long, default_value_t = 0)]
    warm_up: usize,
    /// Without the memory pool, as commands run: for programs that cannot reserve as much address space
    #[arg(long)]
    unpooled: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let arguments: Map<String, Value> = serde_json::from_str(&args.arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let shape = if args.unpooled { Shape::Command } else { Shape::Server };
        let gate = Gate::open(Config::load().map_err(|failure| failure.sentence())?, shape).await.map_err(|it| it.sentence())?;
        let mut times = Vec::with_capacity(args.count);
        for number in 0..args.warm_up + args.count {
            let call = Call::local(&args.tool, arguments.clone());
            let start = Instant::now();
            let answer = gate.call(call).await;
            let taken = start.elapsed();
            let answer = answer.map_err(|refusal| refusal.into_failure().sentence())?;
            if !matches!(&answer, Answer::Complete(outcome) if outcome.structured.is_some()) {
                return Err("the tool gave no result".into());
            }
            if number >= args.warm_up {
                times.push(taken);
            }
        }
        let mut out = std::io::stdout().lock();
        times.iter().try_for_each(|time| writeln!(out, "{:.2}", time.as_secs_f64() * 1e6))?;
        Ok(())
    })
}
