//! Hours in seconds: good calls, hostile ones and hostile archives, callers that hang up, people who change tokens and grants, clients
//! of servers on pipes that leave, and a server that is killed, over and over; and nothing grows. `just soak 3600` is the hour.

mod people;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Plugin, Process, Response, Service, zip};

/// What a process uses while it is idle.
#[derive(Debug)]
struct Sample {
    memory: u64,
    descriptors: usize,
    threads: usize,
}

#[test]
fn nothing_grows_and_nothing_is_left() {
    let seconds = std::env::var("ZIPFS_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let config = json!({"calls": {"deadline_ms": 400, "cpu_ms": 300}, "audit": {"max_file_bytes": 1 << 20}});
    let data = Service::prepare(config);
    let names = ["a", "b", "c", "d"];
    let tokens: Vec<String> = names.iter().map(|name| crate::support::token(data.path(), name, &["--rate", "1000000"])).collect();
    let service = Service::on(data.clone(), &[]);
    service.add("spin");
    service.add("grow");
    let granted = tempfile::tempdir().unwrap();
    let tables = "[workspace]\naccess = \"write\"\n[[directory]]\nname = \"docs\"\nguest = \"/docs\"\naccess = \"read\"\n";
    Plugin::of("places", tables).add(data.path(), &[]);
    people::act(&service, granted.path(), 1);
    let before = kept(data.path());
    let service = RwLock::new(Arc::new(service));
    for token in &tokens {
        let opened = service.read().unwrap().agent(token).upload("?name=work", &zip(&[("count.txt", "0"), ("b.txt", "b")]));
        assert_eq!(opened.status, 201, "{opened:?}");
    }
    let (stop, done, lost) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        for (number, token) in tokens.iter().enumerate() {
            let (service, stop, done, lost) = (&service, &stop, &done, &lost);
            scope.spawn(move || {
                let mut random = number as u64 + 1;
                while !stop.load(Ordering::Relaxed) {
                    let current = service.read().unwrap().clone();
                    match act(&current, token, next(&mut random)) {
                        true => done.fetch_add(1, Ordering::Relaxed),
                        // The server died under it.
                        false => lost.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        {
            let (service, stop, granted) = (&service, &stop, granted.path());
            scope.spawn(move || {
                let mut random = 7;
                while !stop.load(Ordering::Relaxed) {
                    let current = service.read().unwrap().clone();
                    people::act(&current, granted, next(&mut random));
                }
            });
        }
        let began = Instant::now();
        let life = Duration::from_secs((seconds / 4).clamp(3, 300));
        let mut killed = Instant::now();
        while began.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(250));
            if killed.elapsed() > life {
                samples.push(sample(service.read().unwrap().process()));
                // Dropping it is kill -9; the next one begins on what is there.
                let mut current = service.write().unwrap();
                let pid = current.process().0.to_string();
                std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill");
                *current = Arc::new(Service::on(data.clone(), &[]));
                killed = Instant::now();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    eprintln!("{} calls, {} cut off; {samples:?}", done.load(Ordering::Relaxed), lost.load(Ordering::Relaxed));
    assert!(done.load(Ordering::Relaxed) > 20 * seconds / 4, "hardly anything was done");

    // Every life ended about as it began.
    for sample in &samples {
        assert!(sample.memory < 400 << 20 && sample.descriptors < 200 && sample.threads < 120, "{samples:?}");
    }
    let service = service.into_inner().unwrap();
    for token in &tokens {
        let agent = service.agent(token);
        let read = agent.call("zipfs_read", json!({"path": "count.txt", "session": "work"})).value();
        assert!(read["content"].as_str().is_some_and(|text| text.parse::<u64>().is_ok()), "{read}");
        agent.call("zipfs_sync", json!({"session": "work"})).value();
        assert_eq!(agent.download("work").status, 200);
        agent.call("zipfs_prune", json!({"all": true})).value();
    }
    service.cli().ok(&["prune", "--all"]);
    let left: Vec<String> =
        everything(&service.data().join("workspaces")).into_iter().filter(|name| !name.contains(".usage")).collect();
    assert!(left.iter().all(|name| name.ends_with(".publish")), "{left:?}");
    std::thread::sleep(Duration::from_millis(500));
    let idle = sample(service.process());
    assert!(idle.descriptors < 40, "{idle:?}");
    service.stop();
    let more: Vec<String> = kept(data.path()).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(more.is_empty(), "files that were not there before: {more:?}");
    let locked = held(data.path());
    assert!(locked.is_empty(), "{locked:?}");
    service.cli().ok(&["audit", "verify"]);
}

/// What lies in the data directory besides sessions, the log, and code that was compiled.
fn kept(data: &std::path::Path) -> Vec<String> {
    let rooms = ["audit", "cache", "workspaces"].map(|room| data.join(room).display().to_string());
    everything(data).into_iter().filter(|name| !rooms.iter().any(|room| name.starts_with(room))).collect()
}

/// Files on which somebody still has a lock.
fn held(data: &std::path::Path) -> Vec<String> {
    let free = |name: &String| {
        let file = std::fs::File::open(name).expect("it is there");
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    };
    everything(data).into_iter().filter(|name| !free(name)).collect()
}

/// One of the archives that must not open.
fn hostile(random: u64) -> &'static [u8] {
    static ALL: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let cases = zipfs_test_archives::all().into_iter();
        let refused = cases.filter(|case| matches!(case.verdict, zipfs_test_archives::Verdict::Refused(..)));
        refused.map(|case| case.bytes).filter(|bytes| bytes.len() < 1 << 20).collect()
    });
    &all[(random / 100) as usize % all.len()]
}

/// One thing that an agent does. False if there was no answer.
fn act(service: &Service, token: &str, random: u64) -> bool {
    let call = |tool: &str, arguments: Value| {
        let reply = try_call(service, token, tool, arguments);
        reply.is_some_and(|reply| {
            let allowed = reply.status == 200 || reply.status == 429;
            assert!(allowed || reply.status == 0, "{tool}: {reply:?}");
            reply.status != 0
        })
    };
    match random % 100 {
        0..40 => call("zipfs_read", json!({"path": "count.txt", "session": "work"})),
        40..60 => call("zipfs_write", json!({"path": "count.txt", "content": random.to_string(), "session": "work"})),
        60..70 => call("zipfs_grep", json!({"pattern": "[0-9]", "session": "work"})),
        70..80 => call("zipfs_status", json!({"session": "work"})),
        80..86 => call("zipfs_sync", json!({"session": "work"})),
        86..90 => call("spin", json!({})),
        90..92 => call("grow", json!({})),
        92..95 => hang_up(service, token),
        95..98 => {
            let bearer = format!("Bearer {token}");
            let sent = try_send(service, &service.request("POST /archives", &[("authorization", &bearer)], hostile(random)));
            sent.is_some_and(|reply| {
                assert!(matches!(reply.status, 0 | 400 | 403 | 413 | 429), "{reply:?}");
                reply.status != 0
            })
        }
        _ => call("zipfs_read", json!({"path": "../../etc/passwd", "session": "work"})),
    }
}

/// A call, or nothing if the server could not be reached.
fn try_call(service: &Service, token: &str, tool: &str, arguments: Value) -> Option<Response> {
    try_send(service, &request(service, token, tool, arguments))
}

fn try_send(service: &Service, bytes: &[u8]) -> Option<Response> {
    let mut stream = std::net::TcpStream::connect(service.address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.write_all(bytes).ok()?;
    Some(Response::read(stream))
}

/// A call whose answer nobody waits for.
fn hang_up(service: &Service, token: &str) -> bool {
    let Ok(mut stream) = std::net::TcpStream::connect(service.address) else { return false };
    let _ = stream.write_all(&request(service, token, "spin", json!({})));
    std::thread::sleep(Duration::from_millis(50));
    true
}

fn request(service: &Service, token: &str, tool: &str, arguments: Value) -> Vec<u8> {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": meta}});
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    service.request("POST /mcp", &headers, body.to_string().as_bytes())
}

fn sample(process: Process) -> Sample {
    let threads = std::fs::read_dir(format!("/proc/{}/task", process.0)).map_or(0, Iterator::count);
    Sample { memory: process.memory(), descriptors: process.descriptors(), threads }
}

fn everything(directory: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => names.extend(everything(&entry.path())),
            false => names.push(entry.path().display().to_string()),
        }
    }
    names
}

/// The same sequence in every run.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}
