//! A server at the other end of two pipes: one line out, one line in, and the clock between them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::watchdog::{PATIENCE, Watched};
use crate::wire::{Dialect, INITIALIZED, Request, read_answer};

/// How to start a server.
#[derive(Clone)]
pub struct Launch {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub dialect: Dialect,
    /// Where its complaints go. A file, because a pipe that nobody reads would stop the server once it is full.
    pub complaints: PathBuf,
}

impl Launch {
    /// zipfs on a data directory.
    pub fn of_zipfs(program: &Path, data: &Path) -> Launch {
        Launch {
            program: program.to_owned(),
            arguments: vec!["mcp".into()],
            environment: vec![("ZIPFS_DATA_DIR".into(), data.into())],
            dialect: Dialect::Mcp,
            complaints: data.join("bench.stderr"),
        }
    }
}

/// A running server.
pub struct Pipe {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    child: Arc<Watched>,
    process: u32,
    dialect: Dialect,
    complaints: PathBuf,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    last_id: u64,
}

/// What a pipe holds on Linux, so that one read can take all that is there.
const PIPE_CAPACITY: usize = 64 * 1024;

/// What a server sees of our environment. Not the rest: a `RUST_LOG`, or the loader path that cargo sets, would be measured too.
const KEPT: [&str; 4] = ["PATH", "HOME", "TMPDIR", "LANG"];

impl Pipe {
    /// Starts the server, and says nothing to it yet.
    pub fn start(launch: &Launch) -> Result<Self> {
        let complaints = File::create(&launch.complaints).with_context(|| format!("create {}", launch.complaints.display()))?;
        let mut child = Command::new(&launch.program)
            .args(&launch.arguments)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept)))
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints)
            .spawn()
            .with_context(|| format!("start {}", launch.program.display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("the child has no output")?;
        Ok(Self {
            input,
            output: BufReader::with_capacity(PIPE_CAPACITY, output),
            process: child.id(),
            child: Watched::new(child),
            dialect: launch.dialect,
            complaints: launch.complaints.clone(),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            last_id: 0,
        })
    }

    /// Starts the server and shakes hands.
    pub fn connect(launch: &Launch) -> Result<Self> {
        let mut pipe = Self::start(launch)?;
        pipe.shake_hands()?;
        Ok(pipe)
    }

    pub fn shake_hands(&mut self) -> Result<()> {
        self.ask(&Request::initialize()).context("initialize")?;
        self.send(INITIALIZED)
    }

    /// Sends a request and waits for its answer. The time is from before the write to after the read that completed the line;
    /// the request was built before, and the answer is checked afterwards.
    pub fn ask(&mut self, request: &Request) -> Result<Duration> {
        self.last_id += 1;
        let id = self.last_id;
        let mut line = std::mem::take(&mut self.outgoing);
        line.clear();
        request.append_to(&mut line, id);
        let start = Instant::now();
        self.send(&line)?;
        self.outgoing = line;
        loop {
            self.receive()?;
            let taken = start.elapsed();
            if read_answer(&self.incoming, self.dialect, request)? == Some(id) {
                return Ok(taken);
            }
        }
    }

    /// Sends `total` requests, never more than `in_flight` without an answer, and waits for all of them. Answers may come in
    /// any order, each once.
    pub fn flood(&mut self, request: &Request, in_flight: usize, total: usize) -> Result<Duration> {
        let first = self.last_id + 1;
        let last = self.last_id + total as u64;
        let mut answered = vec![false; total];
        let mut open = total;
        let mut line = Vec::new();
        let start = Instant::now();
        for _ in 0..in_flight.min(total) {
            self.last_id += 1;
            request.append_to(&mut line, self.last_id);
        }
        while open > 0 {
            // One write for all that fell due, unless an answer is already here: then that one is handled first.
            if !line.is_empty() && !self.output.buffer().contains(&b'\n') {
                self.send(&line)?;
                line.clear();
            }
            self.receive()?;
            let Some(id) = read_answer(&self.incoming, self.dialect, request)? else {
                continue;
            };
            if !(first..=last).contains(&id) || std::mem::replace(&mut answered[(id - first) as usize], true) {
                bail!("an answer to {id}, which was not open");
            }
            open -= 1;
            if self.last_id < last {
                self.last_id += 1;
                request.append_to(&mut line, self.last_id);
            }
        }
        Ok(start.elapsed())
    }

    /// What the server has in memory now.
    pub fn resident_megabytes(&self) -> Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.process)).context("the server's status")?;
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).context("the kernel does not say how much it has")?;
        let kibibytes: f64 = line.split_whitespace().nth(1).context("no size")?.parse()?;
        Ok(kibibytes * 1024.0 / 1e6)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.input.as_mut().context("the input is closed")?;
        if let Err(error) = input.write_all(bytes) {
            bail!("the server closed its input ({error}){}", self.last_words());
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        self.incoming.clear();
        self.child.begin_wait();
        let read = self.output.read_until(b'\n', &mut self.incoming);
        self.child.end_wait();
        if read? == 0 || self.incoming.last() != Some(&b'\n') {
            if self.child.was_ended() {
                bail!("no answer in {} s{}", PATIENCE.as_secs(), self.last_words());
            }
            bail!("the server ended without an answer{}", self.last_words());
        }
        Ok(())
    }

    /// The end of what the server wrote to its standard error.
    fn last_words(&self) -> String {
        let mut said = String::new();
        let _ = File::open(&self.complaints).and_then(|mut file| file.read_to_string(&mut said));
        match said.trim_end().lines().next_back() {
            Some(line) => format!("; it said: {line}"),
            None => String::new(),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // End of input is how a server on stdio is told to go.
        self.input = None;
        self.child.end();
    }
}
