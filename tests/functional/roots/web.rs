//! A running `zipfs serve` with one of the plugins, and a client that shows what is on the wire: statuses and headers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::add;
use crate::support::Zipfs;

/// A server for one plugin alone, on a root of its own.
pub struct Web {
    child: Child,
    pub address: String,
    data: tempfile::TempDir,
    pub root: tempfile::TempDir,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        // An event stream of one message, or the message alone.
        let text = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.starts_with('{'));
        serde_json::from_str(text.unwrap_or(&self.body)).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Answer {
    /// The messages of a batch.
    #[track_caller]
    pub fn json_array(&self) -> Vec<Value> {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Web {
    /// Serves the plugin alone, its directory chosen by the variable of its manifest.
    pub fn serve(plugin: &str, variable: &str, files: &[(&str, &str)]) -> Web {
        Web::with(plugin, variable, files, json!({}))
    }

    pub fn with(plugin: &str, variable: &str, files: &[(&str, &str)], config: Value) -> Web {
        let (data, root) = (tempfile::tempdir().expect("data"), tempfile::tempdir().expect("a root"));
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
            std::fs::write(path, text).expect("a file");
        }
        std::fs::write(data.path().join("config.json"), config.to_string()).expect("the configuration");
        add(data.path(), plugin, &["--grant", "root"]);
        // The secret exists before the server is asked to serve: without any way to authenticate it refuses to.
        Zipfs(data.path()).ok(&["token", "mint"]);
        let mut command = Zipfs(data.path()).command();
        command.args(["serve", "--only", plugin, "--listen", "127.0.0.1:0"]).env(variable, root.path());
        let (child, address) = started(command);
        Web { child, address, data, root }
    }

    /// A signed token with these scopes.
    pub fn token(&self, scopes: &str) -> String {
        let mut arguments = vec!["token", "mint"];
        if !scopes.is_empty() {
            arguments.extend(["--scope", scopes]);
        }
        // As people and programs do who take a role for themselves: paths are what is tested here.
        arguments.extend(["--role", "operator"]);
        let printed = Zipfs(self.data.path()).ok(&arguments);
        printed.lines().last().expect("a token").trim().to_owned()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end, and says how it ended.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("the child")
    }

    #[track_caller]
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        request(&self.address, "POST", path, headers, body)
    }

    #[track_caller]
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        request(&self.address, "GET", path, headers, "")
    }

    /// Begins a transport session, and returns its id with the answer.
    #[track_caller]
    pub fn initialize(&self, token: &str) -> (String, Value) {
        let bearer = format!("Bearer {token}");
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2024-11-05",
            "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}});
        let answer = self.post("/mcp", &[("authorization", &bearer)], &hello.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        let session = answer.header("mcp-session-id").expect("a session").to_owned();
        // As the clients of this system send it: without Accept.
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        let noted = self.post("/mcp", &[("authorization", &bearer), ("mcp-session-id", &session)], &initialized);
        assert_eq!(noted.status, 202, "{noted:?}");
        (session, answer.json())
    }

    /// One request of MCP in a transport session of its own.
    #[track_caller]
    pub fn mcp(&self, scopes: &str, method: &str, params: Value) -> Answer {
        let token = self.token(scopes);
        let (session, _) = self.initialize(&token);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        self.post("/mcp", &[("authorization", &format!("Bearer {token}")), ("mcp-session-id", &session)], &body)
    }

    /// The status of a tool's call for somebody with these scopes.
    #[track_caller]
    pub fn status(&self, scopes: &str, tool: &str, arguments: Value) -> u16 {
        self.mcp(scopes, "tools/call", json!({"name": tool, "arguments": arguments})).status
    }

    /// The status of a listing.
    #[track_caller]
    pub fn listing(&self, scopes: &str, uri: &str) -> u16 {
        self.mcp(scopes, "resources/read", json!({"uri": uri})).status
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and waits until it says where it listens.
pub fn started(mut command: std::process::Command) -> (Child, String) {
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("zipfs starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.trim().rsplit("http://").next().unwrap_or_default().to_owned();
    assert!(address.contains(':'), "the server does not say where it listens: {line:?} {:?}", child.wait());
    (child, address)
}

#[track_caller]
fn request(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    if method == "POST" {
        text += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).expect("the server reads");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server answers");
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let is_chunked = headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, headers, body }
}

fn unchunked(mut rest: &str) -> String {
    let mut whole = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
        if size == 0 {
            break;
        }
        whole += &after[..size];
        rest = after[size..].trim_start_matches("\r\n");
    }
    whole
}
