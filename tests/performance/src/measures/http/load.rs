//! Clients that send the same request again and again, each on a connection of its own, and look at every answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Long enough to be past the start of the connections.
const A_ROUND: Duration = Duration::from_secs(4);

/// An answer as it came.
pub struct Answer {
    pub status: u16,
    /// The value of `mcp-session-id`.
    pub session: Option<String>,
    pub body: String,
}

/// A connection that is kept.
pub struct Line(BufReader<TcpStream>);

impl Line {
    pub fn to(address: &str) -> Result<Line> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Line(BufReader::new(stream)))
    }

    pub fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        self.0.get_mut().write_all(request)?;
        let (mut status, mut session, mut length, mut is_chunked) = (0, None, 0, false);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                bail!("the connection ended");
            }
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("HTTP/1.1 ") {
                status = said.get(..3).context("no status")?.parse()?;
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse()?,
                "mcp-session-id" => session = Some(value.trim().to_owned()),
                "transfer-encoding" => is_chunked = value.trim() == "chunked",
                _ => {}
            }
        }
        let mut body = Vec::new();
        if is_chunked {
            self.read_chunks(&mut body)?;
        } else {
            body.resize(length, 0);
            self.0.read_exact(&mut body)?;
        }
        Ok(Answer { status, session, body: String::from_utf8(body)? })
    }

    fn read_chunks(&mut self, body: &mut Vec<u8>) -> Result<()> {
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16)?;
            let before = body.len();
            body.resize(before + size, 0);
            self.0.read_exact(&mut body[before..])?;
            self.0.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

/// Calls a second by all clients together, one for each request. Every answer has to hold the proof.
pub fn rate(address: &str, requests: &[Vec<u8>], proof: &str) -> Result<f64> {
    let (stop, calls) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let ended: Vec<Result<()>> = std::thread::scope(|scope| {
        let (stop, calls) = (&stop, &calls);
        let clients: Vec<_> =
            requests.iter().map(|request| scope.spawn(move || client(address, request, proof, stop, calls))).collect();
        std::thread::sleep(A_ROUND);
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap_or_else(|_| bail!("a client broke down"))).collect()
    });
    ended.into_iter().collect::<Result<()>>()?;
    Ok(calls.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}

fn client(address: &str, request: &[u8], proof: &str, stop: &AtomicBool, calls: &AtomicU64) -> Result<()> {
    let mut line = Line::to(address)?;
    while !stop.load(Ordering::Relaxed) {
        let answer = line.ask(request)?;
        // An answer that is wrong must not be counted.
        if answer.status != 200 || !answer.body.contains(proof) {
            bail!("not the file: {} {:.300}", answer.status, answer.body);
        }
        calls.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
