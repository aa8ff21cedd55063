//! What the clients talk to: `zipfs serve`, and the TypeScript server behind the HTTP transport of its own SDK.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::CLIENTS;
use super::load::{self, Line};
use crate::fixture::{FILE, LAST_WORD};
use crate::peers::{Field, Peer};
use crate::wire::{INITIALIZED, Request};

const SESSIONS: usize = 16;

/// The program that gives a server the other transport.
const SERVE_OVER_HTTP: &str = include_str!("serve-over-http.mjs");

/// A revision that both know.
const REVISION: &str = "2025-06-18";

/// A server that listens, and what each client asks it.
pub struct Service {
    /// Ends with it.
    _running: Running,
    address: String,
    requests: Vec<Vec<u8>>,
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Service {
    pub fn load(&self) -> Result<f64> {
        load::rate(&self.address, &self.requests, LAST_WORD)
    }
}

/// Ours, with the sessions of the clients opened.
pub fn zipfs(field: &Field, peer: &Peer) -> Result<Service> {
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
    let mut command = Command::new(&field.program);
    command.args(["serve", "--listen", "127.0.0.1:0", "--allow-local"]).env("ZIPFS_DATA_DIR", &data);
    let (running, address) = listen(command, &peer.launch.complaints)?;
    let meta: Value =
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let requests = (0..CLIENTS).map(|number| {
        let arguments = json!({"path": FILE, "session": format!("s{}", number % SESSIONS)});
        let params = json!({"name": "zipfs_read", "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: zipfs_read\r\n";
        post(&address, headers, &body)
    });
    let requests = requests.collect();
    Ok(Service { _running: running, address, requests })
}

/// A server for standard input and output, with the transport of its SDK for HTTP in place of the other.
pub fn over_http(field: &Field, peer: &Peer) -> Result<Service> {
    // Beside what npm installed, so that it finds the same SDK.
    let script = field.bench.join("serve-over-http.mjs");
    std::fs::write(&script, SERVE_OVER_HTTP)?;
    let mut command = Command::new(&peer.launch.program);
    command.arg(&script).args(&peer.launch.arguments);
    let (running, address) = listen(command, &peer.launch.complaints)?;
    let read = peer.read.as_ref().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let requests = (0..CLIENTS).map(|_| {
        let mut line = Line::to(&address)?;
        let begun = line.ask(&post(&address, "", &body(&Request::initialize())))?;
        let session = begun.session.with_context(|| format!("no session: {} {}", begun.status, begun.body))?;
        let headers = format!("mcp-session-id: {session}\r\nmcp-protocol-version: {REVISION}\r\n");
        line.ask(&post(&address, &headers, std::str::from_utf8(INITIALIZED)?.trim()))?;
        Ok(post(&address, &headers, &body(read)))
    });
    let requests = requests.collect::<Result<Vec<_>>>()?;
    Ok(Service { _running: running, address, requests })
}

/// Starts a server that says on its first line where it listens.
fn listen(mut command: Command, complaints: &Path) -> Result<(Running, String)> {
    let complaints = std::fs::File::create(complaints.with_extension("http"))?;
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints).spawn();
    let mut running = Running(child.with_context(|| format!("run {command:?}"))?);
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().context("no output")?).read_line(&mut line)?;
    let address = line.trim().rsplit('/').next().filter(|address| address.contains(':'));
    let address = address.with_context(|| format!("no address in {line:?}"))?.to_owned();
    Ok((running, address))
}

fn body(request: &Request) -> String {
    let mut line = Vec::new();
    request.append_to(&mut line, 1);
    String::from_utf8_lossy(&line).trim().to_owned()
}

fn post(address: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The file that all peers read, in an archive of its own for these sessions.
fn archive_of(directory: &Path) -> Result<PathBuf> {
    let fixture = crate::fixture::Fixture::create()?;
    let path = directory.join("note.zip");
    std::fs::copy(&fixture.archive, &path)?;
    Ok(path)
}
