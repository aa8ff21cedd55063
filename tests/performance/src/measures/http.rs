//! `http`: many clients at once over HTTP, each with a connection of its own, reading from several sessions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Finding, Measure};
use crate::effort::Effort;
use crate::figures::{Better, Figure, Series};
use crate::fixture::{FILE, LAST_WORD};
use crate::peers::{Absent, Field, Peer, Role};
use crate::pipe::Pipe;
use crate::promise::Promise;

pub const MEASURE: Measure = Measure {
    name: "http",
    about: "a text file of 1 KiB: zipfs over HTTP by 64 clients on 16 sessions, the others with 64 calls in flight over stdio",
    unit: "calls/s",
    better: Better::Higher,
    run,
};

const CLIENTS: usize = 64;
const SESSIONS: usize = 16;

/// Long enough to be past the start of 64 connections.
const A_ROUND: Duration = Duration::from_secs(4);

fn run(field: &Field, effort: &Effort) -> Finding {
    let mut absent = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    let own = field.peers.iter().find(|peer| peer.role == Role::Zipfs);
    let mut service = own.map(|peer| Service::start(field, peer));
    if let Some(Err(error)) = &service {
        absent.push(Absent { peer: "zipfs".into(), reason: format!("{error:#}") });
        service = None;
    }
    // In turns, so that what happens on the machine happens to all.
    for _ in 0..effort.flood_rounds.max(3) {
        if let Some(Ok(service)) = &service {
            match service.load() {
                Ok(rate) => add(&mut series, "zipfs, HTTP", Role::Zipfs, rate),
                Err(error) => absent.push(Absent { peer: "zipfs".into(), reason: format!("{error:#}") }),
            }
        }
        for peer in field.peers.iter().filter(|peer| peer.role == Role::TypeScript) {
            match flood(peer) {
                Ok(rate) => add(&mut series, &peer.name, peer.role, rate),
                Err(error) => absent.push(Absent { peer: peer.name.clone(), reason: format!("{error:#}") }),
            }
        }
    }
    let zipfs = series.iter().find(|series| series.role == Role::Zipfs);
    let promises = series
        .iter()
        .filter(|series| series.role == Role::TypeScript)
        .map(|other| {
            Promise::at_most(format!("{} ÷ zipfs", other.peer), 1.0 / 3.0, "×")
                .between(Some(other), zipfs, |other, own| other.over(own, Figure::Median))
        })
        .collect();
    Finding { promises, series, absent }
}

fn add(series: &mut Vec<Series>, peer: &str, role: Role, rate: f64) {
    match series.iter_mut().find(|series| series.peer == peer) {
        Some(known) => known.rounds.push(vec![rate]),
        None => series.push(Series { peer: peer.to_owned(), role, rounds: vec![vec![rate]] }),
    }
}

/// The same number of calls open at once, without HTTP: it has none, and is spared its cost.
fn flood(peer: &Peer) -> Result<f64> {
    let request = peer.read.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let mut pipe = Pipe::connect(&peer.launch)?;
    let (began, mut calls) = (Instant::now(), 0);
    while began.elapsed() < A_ROUND {
        pipe.flood(request, CLIENTS, 1000)?;
        calls += 1000;
    }
    Ok(f64::from(calls) / began.elapsed().as_secs_f64())
}

struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(field: &Field, peer: &Peer) -> Result<Service> {
        let data = field.scratch.path().join(format!("served-{}", field.next_number()));
        std::fs::create_dir(&data)?;
        let archive = archive_of(&data)?;
        for number in 0..SESSIONS {
            let opened = Command::new(&field.program)
                .args(["open", "--quiet", "--name", &format!("s{number}")])
                .arg(&archive)
                .env("ZIPFS_DATA_DIR", &data)
                .output()?;
            if !opened.status.success() {
                bail!("zipfs open: {}", String::from_utf8_lossy(&opened.stderr));
            }
        }
        let complaints = std::fs::File::create(peer.launch.complaints.with_extension("http"))?;
        let mut child = Command::new(&field.program)
            .args(["serve", "--listen", "127.0.0.1:0", "--allow-local"])
            .env("ZIPFS_DATA_DIR", &data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().context("no address")?.to_owned();
        Ok(Service { child, address })
    }

    /// Calls a second, by all clients together.
    fn load(&self) -> Result<f64> {
        let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
        let began = Instant::now();
        let ended: Vec<Result<()>> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let (stop, calls) = (&stop, &calls);
                    scope.spawn(move || self.client(number, stop, calls))
                })
                .collect();
            std::thread::sleep(A_ROUND);
            stop.store(true, Ordering::Relaxed);
            clients.into_iter().map(|client| client.join().unwrap_or_else(|_| bail!("a client broke down"))).collect()
        });
        ended.into_iter().collect::<Result<()>>()?;
        Ok(calls.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
    }

    fn client(&self, number: usize, stop: &AtomicBool, calls: &AtomicU64) -> Result<()> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut stream = BufReader::new(stream);
        let meta: Value =
            json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let arguments = json!({"path": FILE, "session": format!("s{}", number % SESSIONS)});
        let params = json!({"name": "zipfs_read", "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: zipfs_read\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        while !stop.load(Ordering::Relaxed) {
            stream.get_mut().write_all(request.as_bytes())?;
            let answer = read_answer(&mut stream)?;
            // An answer that is wrong must not be counted.
            if !answer.contains(LAST_WORD) {
                bail!("not the file: {answer:.300}");
            }
            calls.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_answer(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            bail!("the connection ended");
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

/// The file that all peers read, in an archive of its own for these sessions.
fn archive_of(directory: &Path) -> Result<PathBuf> {
    let fixture = crate::fixture::Fixture::create()?;
    let path = directory.join("note.zip");
    std::fs::copy(&fixture.archive, &path)?;
    Ok(path)
}
