//! `memory`: what a server keeps in memory: when nobody asks anything, with many sessions open, and after calls that needed a lot.

use std::io::Write;

use anyhow::{Result, ensure};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::opened::Opened;
use crate::peers::{Absent, Field, Role};
use crate::pipe::Pipe;
use crate::promise::Promise;
use crate::wire::Request;

pub const MEASURE: Measure =
    Measure { name: "memory", about: "resident memory of a server, shared pages included", unit: "MB", better: Better::Lower, run };

const MOST_IDLE: f64 = 20.0;
const MOST_WITH_SESSIONS: f64 = 60.0;

/// What may stay of calls that returned two megabytes each. Allocators keep some; a leak would be gigabytes.
const MOST_KEPT: f64 = 8.0;

const LARGE_CALLS: usize = 300;

/// Calls after which the allocator has what it keeps, and every slot of the pool was used.
const CALLS_TO_SETTLE: usize = 60;

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut finding = Finding { series: Vec::new(), absent: Vec::new(), promises: Vec::new() };
    for peer in field.peers.iter().filter(|peer| peer.role != Role::Floor) {
        let idle = Pipe::connect(&peer.launch).and_then(|mut pipe| {
            pipe.ask(&Request::list_tools())?;
            pipe.resident_megabytes()
        });
        match idle {
            Ok(idle) => finding.series.push(one(&format!("{}, idle", peer.name), peer.role, idle)),
            Err(error) => finding.absent.push(Absent { peer: peer.name.clone(), reason: format!("{error:#}") }),
        }
    }
    let sessions = with_sessions(field, effort.sessions);
    let kept = after_large_calls(field);
    let name = format!("zipfs, {} sessions open", effort.sessions);
    let mut add = |name: &str, measured: Result<f64>| match measured {
        Ok(megabytes) => {
            let series = one(name, Role::ZipfsCall, megabytes);
            finding.series.push(series.clone());
            Some(series)
        }
        Err(error) => {
            finding.absent.push(Absent { peer: name.to_owned(), reason: format!("{error:#}") });
            None
        }
    };
    let sessions = add(&name, sessions);
    let kept = add("zipfs, kept of 300 reads of 2 MB", kept);
    let idle = finding.of(Role::Zipfs).next();
    let own = |promise: Promise, series: Option<&Series>| promise.between(series, series, |own, _| own.spread(Figure::Median));
    finding.promises = vec![
        own(Promise::at_most("zipfs, idle", MOST_IDLE, "MB"), idle),
        own(Promise::at_most(name, MOST_WITH_SESSIONS, "MB"), sessions.as_ref()),
        own(Promise::at_most("zipfs, kept of 300 reads of 2 MB", MOST_KEPT, "MB"), kept.as_ref()),
    ];
    finding
}

fn one(name: &str, role: Role, megabytes: f64) -> Series {
    Series { peer: name.to_owned(), role, rounds: vec![vec![megabytes]] }
}

/// Opened by the server itself, one after the other, and then each read once: nothing of them is in the memory of another.
fn with_sessions(field: &Field, count: usize) -> Result<f64> {
    let opened = Opened::nothing(field, "sessions")?;
    let archive = opened.data().join("small.zip");
    write_archive(&archive, b"A note.\n")?;
    let mut pipe = Pipe::connect(&opened.server())?;
    for number in 0..count {
        pipe.ask(&Request::call("zipfs_open", &json!({"path": archive, "name": format!("s{number}")})))?;
    }
    for number in 0..count {
        pipe.ask(&Request::call("zipfs_read", &json!({"path": "note.txt", "session": format!("s{number}")})))?;
    }
    let resident = pipe.resident_megabytes();
    drop(pipe);
    opened.remove()?;
    resident
}

fn after_large_calls(field: &Field) -> Result<f64> {
    const SIZE: usize = 2 << 20;
    let opened = Opened::nothing(field, "large-calls")?;
    let archive = opened.data().join("large.zip");
    write_archive(&archive, &b"0123456789abcdef".repeat(SIZE / 16))?;
    let mut pipe = Pipe::connect(&opened.server())?;
    pipe.ask(&Request::call("zipfs_open", &json!({"path": archive})))?;
    let read = Request::call("zipfs_read", &json!({"path": "note.txt", "limit": SIZE})).proven_by("total_size_bytes");
    let mut read_often = |count: usize| -> Result<f64> {
        for _ in 0..count {
            pipe.ask(&read)?;
        }
        pipe.resident_megabytes()
    };
    let before = read_often(CALLS_TO_SETTLE)?;
    let after = read_often(LARGE_CALLS)?;
    ensure!(before > 0.0, "the server has no memory");
    drop(pipe);
    opened.remove()?;
    Ok((after - before).max(0.0))
}

fn write_archive(path: &std::path::Path, text: &[u8]) -> Result<()> {
    let mut zip = ZipWriter::new(std::fs::File::create(path)?);
    // Not compressed: sixteen characters again and again are a bomb to whoever looks at the ratio.
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("note.txt", stored)?;
    zip.write_all(text)?;
    zip.finish()?;
    Ok(())
}
