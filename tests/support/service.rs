//! A running `zipfs serve`, spoken to over sockets, byte by byte where it matters.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Process, Reply, Zipfs, guest};

/// No answer takes longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service with a data directory of its own.
pub struct Service {
    child: Mutex<Child>,
    pub address: SocketAddr,
    data: Arc<tempfile::TempDir>,
}

impl Service {
    /// A service for whoever reaches it.
    pub fn local(config: Value) -> Service {
        Service::on(Service::prepare(config), &["--allow-local"])
    }

    /// A service with one token for each name, and the tokens.
    pub fn with<const N: usize>(config: Value, tokens: [(&str, &[&str]); N]) -> (Service, [String; N]) {
        let data = Service::prepare(config);
        let made = tokens.map(|(name, arguments)| token(data.path(), name, arguments));
        (Service::on(data, &[]), made)
    }

    /// A data directory with a configuration.
    pub fn prepare(mut config: Value) -> Arc<tempfile::TempDir> {
        config["calls"]["validate_results"] = json!(true);
        let data = tempfile::tempdir().expect("a data directory");
        std::fs::write(data.path().join("config.json"), config.to_string()).expect("the configuration");
        Arc::new(data)
    }

    pub fn on(data: Arc<tempfile::TempDir>, arguments: &[&str]) -> Service {
        Service::within(data, arguments, &[])
    }

    /// The same with variables.
    pub fn within(data: Arc<tempfile::TempDir>, arguments: &[&str], variables: &[(&str, &Path)]) -> Service {
        let mut command = Zipfs(data.path()).command();
        command.envs(variables.iter().copied());
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        if let Some(filter) = std::env::var_os("ZIPFS_LOG") {
            command.env("ZIPFS_LOG", filter);
        }
        let mut child = command.spawn().expect("zipfs starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says where it is");
        let address = line.trim().rsplit('/').next().and_then(|address| address.parse().ok());
        Service { child: Mutex::new(child), address: address.unwrap_or_else(|| panic!("no address: {line:?}")), data }
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn data_handle(&self) -> Arc<tempfile::TempDir> {
        self.data.clone()
    }

    pub fn cli(&self) -> Zipfs<'_> {
        Zipfs(self.data.path())
    }

    pub fn process(&self) -> Process {
        Process(self.child.lock().expect("the child").id())
    }

    /// Adds a guest of `tests/guests` as a plugin.
    pub fn add(&self, name: &str) {
        let path = guest(name);
        self.cli().ok(&["plugin", "add", "--yes", path.to_str().expect("text")]);
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("an option");
        stream
    }

    /// Sends bytes as they are and reads until the service ends the connection.
    pub fn raw(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        // The service may refuse before it has read all.
        let _ = stream.write_all(bytes);
        Response::read(stream)
    }

    /// A request with these headers, which replace the usual ones of the same name; without a value they leave them out.
    pub fn send(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.raw(&self.request(line, headers, body))
    }

    pub fn request(&self, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let host = self.address.to_string();
        let length = body.len().to_string();
        let usual =
            [("host", host.as_str()), ("connection", "close"), ("content-type", "application/json"), ("content-length", &length)];
        let mut text = format!("{line} HTTP/1.1\r\n");
        let kept = usual.iter().filter(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        for (name, value) in kept.chain(headers).filter(|(_, value)| !value.is_empty()) {
            text += &format!("{name}: {value}\r\n");
        }
        [text.as_bytes(), b"\r\n", body].concat()
    }

    /// Somebody who shows a token; with an empty one, nobody.
    pub fn agent<'a>(&'a self, token: &'a str) -> Agent<'a> {
        Agent { service: self, token, path: "/mcp".into() }
    }

    /// Tells it to stop, and says how long that took.
    pub fn stop(&self) -> (std::process::ExitStatus, Duration) {
        let began = Instant::now();
        let mut child = self.child.lock().expect("the child");
        let pid = child.id().to_string();
        std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill");
        loop {
            if let Some(status) = child.try_wait().expect("the child can be waited for") {
                return (status, began.elapsed());
            }
            assert!(began.elapsed() < PATIENCE, "the service does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Makes a token, as a person would.
pub fn token(data: &Path, name: &str, arguments: &[&str]) -> String {
    let arguments = [&["token", "add", name, "--quiet"], arguments].concat();
    Zipfs(data).ok(&arguments).trim().to_owned()
}

/// Somebody who calls, in the stateless revision.
pub struct Agent<'a> {
    service: &'a Service,
    token: &'a str,
    pub path: String,
}

impl Agent<'_> {
    /// A request as it goes over the wire, with its answer as it came.
    pub fn ask(&self, method: &str, mut params: Value) -> Response {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let authorization = self.authorization();
        let headers = [
            ("authorization", authorization.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", &name),
        ];
        self.service.send(&format!("POST {}", self.path), &headers, body.as_bytes())
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        Reply(self.ask("tools/call", json!({"name": tool, "arguments": arguments})).json())
    }

    /// Names of the tools that it is shown.
    pub fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({})).json();
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {listed}"));
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// A request of the older revisions, in a transport session or to begin one.
    pub fn legacy(&self, session: &str, message: Value) -> Response {
        let authorization = self.authorization();
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session)];
        self.service.send(&format!("POST {}", self.path), &headers, message.to_string().as_bytes())
    }

    /// Makes the handshake, and returns the id of the transport session.
    pub fn handshake(&self) -> String {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}});
        let begun = self.legacy("", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
        let session = begun.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {begun:?}")).to_owned();
        let told = self.legacy(&session, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202, "{told:?}");
        session
    }

    /// JSON-RPC beside MCP.
    pub fn rpc(&self, body: &str) -> Response {
        self.service.send("POST /", &[("authorization", &self.authorization())], body.as_bytes())
    }

    /// Brings an archive.
    pub fn upload(&self, query: &str, archive: &[u8]) -> Response {
        let headers = [("authorization", &*self.authorization()), ("content-type", "application/zip")];
        self.service.send(&format!("POST /archives{query}"), &headers, archive)
    }

    pub fn download(&self, session: &str) -> Response {
        self.service.send(&format!("GET /archives/{session}"), &[("authorization", &self.authorization())], b"")
    }

    pub fn authorization(&self) -> String {
        if self.token.is_empty() { String::new() } else { format!("Bearer {}", self.token) }
    }
}

/// A connection that is kept for one request after the other.
pub struct Line(BufReader<TcpStream>);

impl Line {
    pub fn to(service: &Service) -> Line {
        Line(BufReader::new(service.connect()))
    }

    /// Sends a request and reads its answer, which says how long it is.
    pub fn ask(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        self.0.get_mut().write_all(request).expect("it is sent");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("an answer") > 0, "the connection ended");
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("http/1.1 ") {
                status = said[..3].parse().expect("a status");
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("the body");
        (status, body)
    }
}

/// What came back.
#[derive(Debug)]
pub struct Response {
    /// 0 if the connection ended without an answer.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(mut stream: impl Read) -> Response {
        let mut bytes = Vec::new();
        // A connection that is reset after the answer is no matter.
        let _ = stream.read_to_end(&mut bytes);
        Response::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Response {
        let none = || Response { status: 0, headers: Vec::new(), body: Vec::new() };
        let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return none() };
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let mut lines = head.lines();
        let Some(status) = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()) else { return none() };
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())))
            .collect();
        let rest = &bytes[at + 4..];
        let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if is_chunked { unchunked(rest) } else { rest.to_vec() };
        Response { status, headers, body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The message: as it is, or the last one of a stream.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text();
        let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).rfind(|data| !data.is_empty());
        serde_json::from_str(last.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).ok().and_then(|size| usize::from_str_radix(size.trim(), 16).ok()).unwrap_or(0);
        if size == 0 || bytes.len() < at + 2 + size {
            break;
        }
        whole.extend_from_slice(&bytes[at + 2..at + 2 + size]);
        bytes = bytes.get(at + 4 + size..).unwrap_or_default();
    }
    whole
}
