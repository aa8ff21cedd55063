//! Many processes on one session, some of them killed, and somebody outside who replaces the archive: nothing that was
//! acknowledged is lost, and nobody is told of a conflict that there was not.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Archive, Server, Zipfs, zip};

const WORKERS: usize = 8;

struct Stage {
    data: Arc<tempfile::TempDir>,
    archive: Archive,
    /// The servers that may be killed, by worker; zero while there is none.
    victims: [AtomicU32; WORKERS],
    over: AtomicBool,
    outsiders: AtomicBool,
    /// What must not have happened.
    violations: Mutex<Vec<String>>,
}

/// What a writer's own file may hold: the last content that was acknowledged, or one that was under way when a process died.
#[derive(Default)]
struct Expected {
    acknowledged: String,
    under_way: Vec<String>,
}

enum Reply {
    Done(Value),
    Refused(String),
    Died,
}

/// A worker's way to the session: a command for each call, or a server that it keeps.
enum Door {
    Commands,
    Server(Option<Server>),
}

impl Stage {
    fn call(&self, worker: usize, door: &mut Door, tool: &str, arguments: Value) -> Reply {
        match door {
            Door::Commands => {
                let output = Zipfs(self.data.path()).command().args(["call", tool, "--json", &arguments.to_string()]).output();
                command_reply(&output.expect("zipfs can be run"))
            }
            Door::Server(server) => {
                let running = server.get_or_insert_with(|| {
                    let started = Server::on(self.data.clone());
                    started.handshake(json!({}));
                    self.victims[worker].store(started.process().0, Ordering::Release);
                    started
                });
                let id = running.begin_quietly("tools/call", json!({"name": tool, "arguments": arguments}));
                let Some(answer) = running.answer_if_any(id) else {
                    self.victims[worker].store(0, Ordering::Release);
                    *server = None;
                    return Reply::Died;
                };
                match answer["result"]["isError"] == true {
                    true => Reply::Refused(answer["result"]["structuredContent"]["error"]["code"].to_string()),
                    false => Reply::Done(answer["result"]["structuredContent"].clone()),
                }
            }
        }
    }

    fn violated(&self, what: String) {
        self.violations.lock().unwrap().push(what);
    }

    /// One writer with one file: writes, reads back, lists, syncs.
    fn work(&self, worker: usize, mut dice: Dice) -> Expected {
        let mut door = if worker < WORKERS / 2 { Door::Commands } else { Door::Server(None) };
        let (path, mut expected, mut round) = (format!("w{worker}.txt"), Expected::default(), 0);
        while !self.over.load(Ordering::Acquire) {
            let began = Instant::now();
            let (tool, reply) = match dice.roll(10) {
                0..=3 => {
                    round += 1;
                    let content = format!("{worker}:{round}:{}", "x".repeat(dice.roll(3000)));
                    let reply = self.call(worker, &mut door, "zipfs_write", json!({"path": path, "content": content}));
                    match &reply {
                        Reply::Done(_) => expected = Expected { acknowledged: content, under_way: Vec::new() },
                        Reply::Died => expected.under_way.push(content),
                        Reply::Refused(_) => {}
                    }
                    ("write", reply)
                }
                4..=5 if !expected.acknowledged.is_empty() => {
                    let reply = self.call(worker, &mut door, "zipfs_read", json!({"path": path}));
                    if let Reply::Done(read) = &reply {
                        let text = read["content"].as_str().unwrap_or_default().to_owned();
                        if text != expected.acknowledged && !expected.under_way.contains(&text) {
                            self.violated(format!("{path} lost its last write"));
                        }
                    }
                    ("read", reply)
                }
                6 => ("ls", self.call(worker, &mut door, "zipfs_ls", json!({}))),
                7 => ("status", self.call(worker, &mut door, "zipfs_status", json!({}))),
                _ => {
                    let reply = self.call(worker, &mut door, "zipfs_sync", json!({}));
                    let reply = match reply {
                        Reply::Refused(code) if code.contains("CONFLICT") && self.outsiders.load(Ordering::Acquire) => {
                            self.call(worker, &mut door, "zipfs_sync", json!({"force": true}))
                        }
                        other => other,
                    };
                    ("sync", reply)
                }
            };
            let allowed = |code: &str| match code.trim_matches('"') {
                "LOCKED" => began.elapsed() >= Duration::from_millis(9500),
                "CONFLICT_DETECTED" => self.outsiders.load(Ordering::Acquire),
                // The packer found that a file had changed under its hands, or the outsider was just replacing the archive.
                "SYNC_FAILED" => tool == "sync",
                _ => false,
            };
            if let Reply::Refused(code) = &reply
                && !allowed(code)
            {
                self.violated(format!("{tool} of worker {worker}: {code} after {:?}", began.elapsed()));
            }
        }
        expected
    }

    /// Replaces the archive by one of its own now and then. Its own versions it does not replace, so each of them has to be found
    /// again: as the archive, or as a backup.
    fn meddle(&self) -> Vec<Vec<u8>> {
        let mut made: Vec<Vec<u8>> = Vec::new();
        while !self.over.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(700));
            let now = std::fs::read(self.archive.path()).unwrap_or_default();
            if made.last() == Some(&now) {
                continue;
            }
            self.outsiders.store(true, Ordering::Release);
            let version = zip(&[("outside.txt", &format!("version {}", made.len()))]);
            let aside = self.archive.dir().join("aside");
            std::fs::write(&aside, &version).unwrap();
            std::fs::rename(&aside, self.archive.path()).unwrap();
            made.push(version);
        }
        made
    }

    fn kill_some(&self, mut dice: Dice) {
        while !self.over.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1000));
            let victim = self.victims[WORKERS / 2 + dice.roll(WORKERS / 2)].swap(0, Ordering::AcqRel);
            if let Some(pid) = Pid::from_raw(victim as i32) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Whoever looks, at whatever moment, finds metadata that is whole.
    fn watch_metadata(&self, file: &Path) {
        while !self.over.load(Ordering::Acquire) {
            match std::fs::read(file) {
                Ok(bytes) if serde_json::from_slice::<Value>(&bytes).is_ok() => {}
                other => self.violated(format!("the metadata was torn: {other:?}")),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn command_reply(output: &Output) -> Reply {
    if output.status.success() {
        return Reply::Done(serde_json::from_slice(&output.stdout).unwrap_or_default());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let error = complaint.lines().find_map(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    Reply::Refused(match error["error"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => complaint.into_owned(),
    })
}

/// Repeatable chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

fn play(length: Duration, seed: u64, with_outsider: bool) {
    let server = Server::with(json!({"defaults": {"backup_rotation_depth": 10_000}}));
    let archive = Archive::of(&[("a.txt", "one")]);
    let session = server.open(&archive);
    let metadata = session.path.parent().unwrap().join("metadata.json");
    let stage = Stage {
        data: server.data_handle(),
        archive,
        victims: Default::default(),
        over: AtomicBool::new(false),
        outsiders: AtomicBool::new(false),
        violations: Mutex::default(),
    };
    let mut versions = Vec::new();
    let expected: BTreeMap<usize, Expected> = std::thread::scope(|scope| {
        let (stage, metadata) = (&stage, &metadata);
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || (worker, stage.work(worker, Dice(seed * 100 + worker as u64)))))
            .collect();
        scope.spawn(|| stage.kill_some(Dice(seed)));
        scope.spawn(|| stage.watch_metadata(metadata));
        let outsider = with_outsider.then(|| scope.spawn(|| stage.meddle()));
        std::thread::sleep(length);
        stage.over.store(true, Ordering::Release);
        versions = outsider.map(|outsider| outsider.join().unwrap()).unwrap_or_default();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let cli = Zipfs(stage.data.path());
    super::scene::expect(&cli, "zipfs_status", &[], "afterwards");
    super::scene::expect(&cli, "zipfs_sync", &["--arg", "force=true"], "afterwards");
    let violations = stage.violations.into_inner().unwrap();
    assert!(violations.is_empty(), "seed {seed}: {violations:#?}");

    let held = stage.archive.read();
    for (worker, expected) in expected {
        let held = held.get(&format!("w{worker}.txt")).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default();
        assert!(held == expected.acknowledged || expected.under_way.contains(&held), "seed {seed}: worker {worker} lost a write");
    }
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for entry in std::fs::read_dir(stage.archive.dir()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "sample.zip" || name.starts_with("sample.bak"), "seed {seed}: {name} is left");
        super::scene::check_with_unzip(&path, &name);
        kept.push(std::fs::read(path).unwrap());
    }
    let _ = writeln!(std::io::stderr(), "seed {seed}: {} versions of the archive, {} from outside", kept.len(), versions.len());
    for (number, version) in versions.iter().enumerate() {
        assert!(kept.contains(version), "seed {seed}: version {number} from outside was lost");
    }
}

fn length(quick: u64) -> Duration {
    Duration::from_secs(if super::is_full() { 60 } else { quick })
}

#[test]
fn eight_processes_lose_nothing() {
    play(length(5), 1, false);
}

#[test]
fn eight_processes_and_an_outsider_lose_nothing() {
    play(length(6), 2, true);
}
