//! A running `zipfs serve` for the local user, spoken to in plain HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub struct Serving {
    pub child: Child,
    pub port: u16,
}

impl Serving {
    /// Starts it on a port of its own.
    pub fn start(mut command: Command) -> Serving {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--allow-local"];
        let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("zipfs starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says where it serves");
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        Serving { child, port: port.unwrap_or_else(|| panic!("no port in {line:?}")) }
    }

    /// Sends one request, and returns the whole answer. Each of `headers` ends its line.
    pub fn send(&self, request: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let (port, length) = (self.port, body.len());
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// The body of an answer that must be good.
    #[track_caller]
    pub fn get(&self, path: &str) -> String {
        let answer = self.send(&format!("GET {path}"), "", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer.split_once("\r\n\r\n").expect("a body").1.to_owned()
    }

    /// Calls a tool as a client of the stateless revision, within a trace.
    pub fn call(&self, tool: &str, arguments: Value) -> String {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = format!(
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
        );
        self.send("POST /mcp", &headers, &body.to_string())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
