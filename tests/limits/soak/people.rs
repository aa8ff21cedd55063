//! What people do beside the agents: tokens and grants come and go, archives that are traps are opened, and clients of servers on
//! pipes leave in every way there is.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{hostile, request, try_send};
use crate::support::{Service, Zipfs};

/// A server whose client has gone ends within this, whatever it was doing.
const PATIENCE: Duration = Duration::from_secs(20);

/// One thing that somebody does.
pub fn act(service: &Service, granted: &Path, random: u64) {
    let data = service.data();
    match random % 7 {
        0 => token_comes_and_goes(service, random),
        1 => grant_comes_and_goes(data, granted),
        2 => trap_is_opened(data, random),
        3 => client(data, |mut client| {
            // Nobody to read any more, and then nobody at all.
            drop(client.child.stdout.take());
            for id in 10..40 {
                let _ = client.send("tools/list", id, json!({}));
            }
            client
        }),
        4 => client(data, |mut client| {
            // Somebody who could read, and does not.
            for id in 10..200 {
                let _ = client.send("tools/list", id, json!({}));
            }
            client
        }),
        5 => client(data, |mut client| {
            let _ = client.send("tools/call", 2, json!({"name": "spin", "arguments": {}}));
            std::thread::sleep(Duration::from_millis(50));
            let _ = client.tell("notifications/cancelled", json!({"requestId": 2}));
            let _ = client.send("tools/call", 3, json!({"name": "grow", "arguments": {}}));
            client
        }),
        _ => client(data, |mut client| {
            let _ = client.send("tools/call", 2, json!({"name": "zipfs_sessions", "arguments": {}}));
            let _ = client.child.kill();
            client
        }),
    }
}

fn token_comes_and_goes(service: &Service, random: u64) {
    let name = format!("guest-{random}");
    let token = crate::support::token(service.data(), &name, &[]);
    let list = |expected: u16| {
        let bytes = request(service, &token, "zipfs_sessions", json!({}));
        if let Some(reply) = try_send(service, &bytes).filter(|reply| reply.status != 0) {
            assert_eq!(reply.status, expected, "{reply:?}");
        }
    };
    list(200);
    Zipfs(service.data()).ok(&["token", "remove", &name]);
    list(401);
}

fn grant_comes_and_goes(data: &Path, granted: &Path) {
    let grant = format!("directory=docs:{}", granted.display());
    Zipfs(data).ok(&["plugin", "grant", "places", &grant]);
    Zipfs(data).ok(&["plugin", "revoke", "places", "directory=docs"]);
}

fn trap_is_opened(data: &Path, random: u64) {
    let trap = tempfile::Builder::new().suffix(".zip").tempfile().expect("a file");
    std::fs::write(trap.path(), hostile(random)).expect("it is written");
    let opened = Zipfs(data).run(&["open", trap.path().to_str().expect("text")]);
    assert!(!opened.status.success(), "a trap was opened");
}

/// A client of `zipfs mcp`.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
}

impl Client {
    fn send(&mut self, method: &str, id: u64, params: Value) -> std::io::Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    fn tell(&mut self, method: &str, params: Value) -> std::io::Result<()> {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn write(&mut self, message: &Value) -> std::io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| writeln!(input, "{message}"))
    }
}

/// Begins as clients do, does something, closes its end, and sees that the server ends.
fn client(data: &Path, act: impl FnOnce(Client) -> Client) {
    let mut child = Zipfs(data).command();
    let child = child.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().expect("zipfs starts");
    let input = child.stdin.take();
    let mut client = Client { child, input };
    let info = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "0"}});
    client.send("initialize", 1, info).expect("it reads");
    let mut answer = String::new();
    // Not a byte more than the answer is taken from the pipe.
    let output = client.child.stdout.as_mut().expect("a pipe");
    BufReader::with_capacity(1, output).read_line(&mut answer).expect("an answer");
    client.tell("notifications/initialized", json!({})).expect("it reads");
    let mut client = act(client);
    drop(client.input.take());
    let began = Instant::now();
    while client.child.try_wait().expect("the child").is_none() {
        if began.elapsed() > PATIENCE {
            let _ = client.child.kill();
            panic!("a server stays though its client has gone");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
