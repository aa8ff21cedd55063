//! A running `zipfs mcp`, spoken to line by line, as a client does.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Archive, Process, Zipfs, guest};

/// No answer takes longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a data directory of its own.
pub struct Server {
    child: Mutex<Child>,
    pid: u32,
    input: Mutex<Option<ChildStdin>>,
    lines: Mutex<Lines>,
    next: AtomicU64,
    data: Arc<tempfile::TempDir>,
}

struct Lines {
    receiver: Receiver<String>,
    /// Messages that came while another was waited for.
    waiting: Vec<Value>,
}

impl Server {
    /// A server that made the handshake of an older client, with defaults.
    pub fn start() -> Server {
        Server::with(json!({}))
    }

    /// The same with a configuration. Results are always checked against output schemas.
    pub fn with(config: Value) -> Server {
        Server::within(&std::env::temp_dir(), config)
    }

    /// The same, with its data directory in `parent`.
    pub fn within(parent: &Path, mut config: Value) -> Server {
        config["calls"]["validate_results"] = json!(true);
        let data = tempfile::tempdir_in(parent).expect("a data directory");
        std::fs::write(data.path().join("config.json"), config.to_string()).expect("the configuration");
        let server = Server::on(Arc::new(data));
        server.handshake(json!({}));
        server
    }

    /// A server whose calls of the system are written to a file by strace.
    pub fn traced(calls: &str, trace: &Path) -> Server {
        let data = Arc::new(tempfile::tempdir().expect("a data directory"));
        Server::under_strace(&["-e", &format!("trace={calls}")], trace, data)
    }

    /// A server on a kernel without `openat2`, or one that looks like that: each call of it says that there is none, and is written down.
    pub fn without_openat2(trace: &Path, config: Value) -> Server {
        let data = Arc::new(tempfile::tempdir().expect("a data directory"));
        std::fs::write(data.path().join("config.json"), config.to_string()).expect("the configuration");
        Server::under_strace(&["-e", "trace=openat2", "-e", "inject=openat2:error=ENOSYS"], trace, data)
    }

    fn under_strace(what: &[&str], trace: &Path, data: Arc<tempfile::TempDir>) -> Server {
        let plain = Zipfs(data.path()).command();
        let mut command = std::process::Command::new("strace");
        command.args(["-f", "-qq", "-s", "300"]).args(what).arg("-o").arg(trace).arg(plain.get_program());
        for (name, value) in plain.get_envs().filter_map(|(name, value)| Some((name, value?))) {
            command.env(name, value);
        }
        let server = Server::spawn(command, data);
        server.handshake(json!({}));
        server
    }

    /// A server on a data directory that exists, before any handshake.
    pub fn on(data: Arc<tempfile::TempDir>) -> Server {
        let mut command = Zipfs(data.path()).command();
        if let Some(filter) = std::env::var_os("ZIPFS_LOG") {
            command.env("ZIPFS_LOG", filter);
        }
        Server::spawn(command, data)
    }

    fn spawn(mut command: std::process::Command, data: Arc<tempfile::TempDir>) -> Server {
        let mut child = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("zipfs starts");
        let input = child.stdin.take();
        let output = child.stdout.take().expect("a pipe");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Server {
            pid: child.id(),
            child: Mutex::new(child),
            input: Mutex::new(input),
            lines: Mutex::new(Lines { receiver, waiting: Vec::new() }),
            next: AtomicU64::new(1),
            data,
        }
    }

    pub fn handshake(&self, capabilities: Value) -> Value {
        let info = self.request(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "tests", "version": "0"}}),
        );
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        info["result"].clone()
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn data_handle(&self) -> Arc<tempfile::TempDir> {
        self.data.clone()
    }

    pub fn process(&self) -> Process {
        Process(self.pid)
    }

    pub fn cli(&self) -> Zipfs<'_> {
        Zipfs(self.data.path())
    }

    /// Adds a guest of `tests/guests` as a plugin, as a user would.
    #[track_caller]
    pub fn add(&self, name: &str) {
        let path = guest(name);
        self.cli().ok(&["plugin", "add", "--yes", path.to_str().expect("text")]);
    }

    /// Opens an archive.
    #[track_caller]
    pub fn open(&self, archive: &Archive) -> Session<'_> {
        let opened = self.call("zipfs_open", json!({"path": archive.path()})).value();
        let id = opened["session_id"].as_str().expect("an id").to_owned();
        let path = opened["workspace_path"].as_str().expect("a path").into();
        Session { server: self, id, path }
    }

    /// Calls a tool and waits for the end.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        Reply(self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// Sends a request and waits for its answer: `result` or `error`.
    #[track_caller]
    pub fn request(&self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Sends a request without waiting.
    pub fn begin(&self, method: &str, params: Value) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The same to a server that may be dead.
    pub fn begin_quietly(&self, method: &str, params: Value) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        if let Some(input) = self.input.lock().expect("no test failed while writing").as_mut() {
            let _ = writeln!(input, "{message}").and_then(|()| input.flush());
        }
        id
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub fn answer(&self, id: u64) -> Value {
        self.wait(&format!("the answer to {id}"), |message| message["id"] == json!(id) && message.get("method").is_none())
    }

    /// The answer to a request, if it is there already. It stays there.
    pub fn answer_now(&self, id: u64) -> Option<Value> {
        let mut lines = self.lines.lock().expect("no test failed while reading");
        while let Ok(line) = lines.receiver.try_recv() {
            lines.waiting.push(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}")));
        }
        lines.waiting.iter().find(|message| message["id"] == json!(id) && message.get("method").is_none()).cloned()
    }

    /// The same, or nothing if the server ends without an answer.
    pub fn answer_if_any(&self, id: u64) -> Option<Value> {
        self.answer_within(id, PATIENCE).unwrap_or_else(|| panic!("waited in vain for the answer to {id}"))
    }

    /// The answer; or inside, nothing if the server ended without one; or nothing at all in that time.
    pub fn answer_within(&self, id: u64, patience: Duration) -> Option<Option<Value>> {
        let lines = self.lines.lock().expect("no test failed while reading");
        let until = Instant::now() + patience;
        loop {
            let line = match lines.receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Some(None),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => return None,
            };
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"));
            if message["id"] == json!(id) && message.get("method").is_none() {
                return Some(Some(message));
            }
        }
    }

    /// Waits for a message that fits, keeping the others.
    #[track_caller]
    pub fn wait(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut lines = self.lines.lock().expect("no test failed while reading");
        if let Some(at) = lines.waiting.iter().position(&fits) {
            return lines.waiting.remove(at);
        }
        let until = Instant::now() + PATIENCE;
        loop {
            let line = match lines.receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(error) => panic!("waited in vain for {what}: {error}; so far: {:?}", lines.waiting),
            };
            // Whatever a guest prints, nothing but the protocol may come here.
            let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line:?}"));
            if fits(&message) {
                return message;
            }
            lines.waiting.push(message);
        }
    }

    /// Messages that came and were not waited for.
    pub fn others(&self) -> Vec<Value> {
        self.lines.lock().expect("no test failed while reading").waiting.clone()
    }

    pub fn send(&self, message: Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    pub fn send_raw(&self, bytes: &[u8]) {
        let mut input = self.input.lock().expect("no test failed while writing");
        let input = input.as_mut().expect("the input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Ends the server as `kill -9` does.
    pub fn kill(&self) {
        let mut child = self.child.lock().expect("the child");
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Closes the server's input and waits for its end.
    pub fn hang_up(&self) -> (std::process::ExitStatus, Duration) {
        drop(self.input.lock().expect("no test failed while writing").take());
        self.wait_for_exit()
    }

    pub fn wait_for_exit(&self) -> (std::process::ExitStatus, Duration) {
        let began = Instant::now();
        let mut child = self.child.lock().expect("the child");
        loop {
            if let Some(status) = child.try_wait().expect("the child can be waited for") {
                return (status, began.elapsed());
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut child) = self.child.lock() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An open session.
pub struct Session<'a> {
    pub server: &'a Server,
    pub id: String,
    /// Where its files are.
    pub path: std::path::PathBuf,
}

impl Session<'_> {
    #[track_caller]
    pub fn call(&self, tool: &str, mut arguments: Value) -> Reply {
        arguments["session"] = json!(self.id);
        self.server.call(tool, arguments)
    }
}

/// What came back from a call.
#[derive(Debug)]
pub struct Reply(pub Value);

impl Reply {
    /// The structured result of a call that must have succeeded.
    #[track_caller]
    pub fn value(&self) -> Value {
        assert_ne!(self.0["result"]["isError"], json!(true), "the call failed: {}", self.0);
        assert!(self.0.get("error").is_none(), "the call was refused: {}", self.0);
        let structured = self.0["result"]["structuredContent"].clone();
        let text = self.0["result"]["content"][0]["text"].as_str().unwrap_or_default();
        if structured.is_object() {
            assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), Some(&structured), "text mirrors structure");
        }
        structured
    }

    #[track_caller]
    pub fn is(&self, expected: Value) {
        assert_eq!(self.value(), expected);
    }

    /// The code of a call that must have failed, and the message.
    #[track_caller]
    pub fn failure(&self) -> (String, String) {
        assert_eq!(self.0["result"]["isError"], json!(true), "the call did not fail: {}", self.0);
        let error = &self.0["result"]["structuredContent"]["error"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&error["code"]), text(&error["message"]))
    }

    #[track_caller]
    pub fn fails(&self, code: &str) -> String {
        let (actual, message) = self.failure();
        assert_eq!(actual, code, "{message}");
        message
    }
}
