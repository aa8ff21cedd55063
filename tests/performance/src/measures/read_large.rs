//! `read-large`: a file of 100 MB read from one end to the other in ranges, one call for each, beside the same ranges read natively.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::{Finding, Measure};
use crate::archives::Set;
use crate::effort::Effort;
use crate::figures::{Better, Figure};
use crate::opened::Opened;
use crate::peers::{Absent, Field, Role};
use crate::pipe::{Launch, Pipe};
use crate::promise::Promise;
use crate::rounds::{Runner, take_turns};
use crate::wire::Request;

pub const MEASURE: Measure = Measure {
    name: "read-large",
    about: "100 MB of text in ranges of 256 KiB, one call for each over stdio",
    unit: "MB/s",
    better: Better::Higher,
    run,
};

/// As many bytes as a call without a limit returns.
const RANGE: u64 = 256 << 10;

const RANGES: u64 = 400;

/// How many times faster native reads may be.
const MOST_TIMES: f64 = 2.0;

enum Turn {
    Calls(Box<Pipe>, Vec<Request>),
    Native(File),
}

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = race(field, effort).unwrap_or_else(|error| Finding::nobody(&error));
    let zipfs = finding.of(Role::Zipfs).next();
    let floor = finding.of(Role::Floor).next();
    let native = finding.of(Role::Native).next();
    let over = |promise: Promise, other| promise.between(other, zipfs, |other, own| other.over(own, Figure::Median));
    finding.promises = vec![
        // Out of reach of whoever answers in JSON, sandbox or not: to escape the text takes fifty times as long as to read it.
        over(Promise::at_most("native pread ÷ zipfs", MOST_TIMES, "×").not_checked(), floor),
        // The same answers on the same wire, without a sandbox: what is left when the protocol is taken off.
        over(Promise::at_most("native rmcp ÷ zipfs", MOST_TIMES, "×"), native),
    ];
    finding
}

fn race(field: &Field, effort: &Effort) -> Result<Finding> {
    let opened = Opened::with(field, "read-large", &Set::Ascii.provide(&field.bench)?)?;
    const FILE: &str = "text.txt";
    let mut runners = vec![Runner {
        name: "pread (floor)".to_owned(),
        role: Role::Floor,
        state: Turn::Native(File::open(opened.contents.join(FILE))?),
    }];
    let mut absent = Vec::new();
    let own = requests("zipfs_read", "limit", FILE);
    runners.push(calls("zipfs", Role::Zipfs, &opened.server(), own)?);
    match field.peers.iter().find(|peer| peer.role == Role::Native) {
        Some(native) => {
            let launch = Launch { arguments: vec![opened.contents.clone().into()], ..native.launch.clone() };
            runners.push(calls(&native.name, Role::Native, &launch, requests("read", "limit", FILE))?);
        }
        None => absent.push(Absent { peer: "native rmcp".to_owned(), reason: "is not there".to_owned() }),
    }
    let (series, failed) = take_turns(runners, effort.unpack_rounds, |turn| Ok(vec![read_all(turn)?]));
    absent.extend(failed);
    opened.remove()?;
    Ok(Finding { series, absent, promises: Vec::new() })
}

fn requests(tool: &str, limit: &str, file: &str) -> Vec<Request> {
    let range = |number| json!({"path": file, "offset": number * RANGE, limit: RANGE});
    (0..RANGES).map(|number| Request::call(tool, &range(number)).proven_by("\"total_size_bytes\"")).collect()
}

fn calls(name: &str, role: Role, launch: &Launch, requests: Vec<Request>) -> Result<Runner<Turn>> {
    let mut pipe = Pipe::connect(launch)?;
    pipe.ask(requests.first().context("no ranges")?)?;
    Ok(Runner { name: name.to_owned(), role, state: Turn::Calls(Box::new(pipe), requests) })
}

/// Megabytes in a second. A call's time ends when its answer is here, so that what this program does with it does not count.
fn read_all(turn: &mut Turn) -> Result<f64> {
    let mut seconds = 0.0;
    match turn {
        Turn::Calls(pipe, requests) => {
            for request in requests {
                seconds += pipe.ask(request)?.as_secs_f64();
            }
        }
        Turn::Native(file) => {
            let mut buffer = vec![0; RANGE as usize];
            let start = Instant::now();
            for number in 0..RANGES {
                let read = file.read_at(&mut buffer, number * RANGE)?;
                ensure!(read == buffer.len(), "the file is shorter than it was");
            }
            seconds += start.elapsed().as_secs_f64();
        }
    }
    Ok((RANGE * RANGES) as f64 / 1e6 / seconds)
}
