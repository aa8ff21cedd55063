//! Many plugins, and many processes that add, update and remove them.

use std::time::Instant;

use serde_json::json;

use super::{components, names};
use crate::support::{Face, Server, Zipfs};

/// Runs a command for each number on a few threads; returns how each ended.
fn each(numbers: std::ops::Range<u32>, work: impl Fn(u32) -> bool + Sync) -> usize {
    let next = std::sync::atomic::AtomicU32::new(numbers.start);
    let good = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if number >= numbers.end {
                        return;
                    }
                    good.fetch_add(usize::from(work(number)), std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    good.into_inner()
}

/// Resident memory of a server that answered `tools/list`, and called so many of its plugins.
fn memory_after(data: &std::sync::Arc<tempfile::TempDir>, calls: u32) -> (u64, f64) {
    let began = Instant::now();
    let server = Server::on(data.clone());
    server.handshake(json!({}));
    server.request("tools/list", json!({}));
    let first = began.elapsed().as_secs_f64() * 1e3;
    for number in 0..calls {
        server.call(&format!("faces_{number:05}"), json!({})).value();
    }
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.process().0)).unwrap();
    let mapped: std::collections::BTreeSet<&str> =
        maps.lines().filter_map(|line| line.split_whitespace().nth(5)).filter(|path| path.ends_with(".cwasm")).collect();
    assert_eq!(mapped.len() as u32, calls, "code is mapped when it is first called, and not before");
    (server.process().memory(), first)
}

#[test]
fn two_hundred_plugins_cost_little_until_they_are_used() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let (alone, _) = memory_after(&data, 0);
    // Added by several processes at once, which all count.
    let added = each(0..200, |number| {
        let file = Face::new(number).write(&data.path().join(format!("{number}.face")));
        Zipfs(data.path()).run(&["plugin", "add", "--yes", file.to_str().unwrap()]).status.success()
    });
    assert_eq!((added, names(data.path()).len(), components(data.path()).len()), (200, 200, 200));
    let starts: Vec<(u64, f64)> = (0..5).map(|_| memory_after(&data, 0)).collect();
    let best = starts.iter().map(|(_, first)| *first).fold(f64::INFINITY, f64::min);
    let idle = starts.iter().map(|(memory, _)| *memory).min().unwrap();
    let (used, _) = memory_after(&data, 20);
    eprintln!("200 plugins: first answer after {best:.1} ms; {alone} bytes without, {idle} with, {used} after calling 20 of them");
    assert!(best < 50.0, "the first answer came after {best:.1} ms");
    // What is kept of each is what its description weighs, not its code.
    assert!(idle.saturating_sub(alone) < 200 * (24 << 10), "{alone} → {idle}");
    let removed =
        each(0..200, |number| Zipfs(data.path()).run(&["plugin", "remove", &format!("faces-{number:05}")]).status.success());
    assert_eq!((removed, names(data.path()).len(), components(data.path()).len()), (200, 0, 0));
}

#[test]
fn processes_that_want_the_same_get_it_one_after_the_other() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let file = Face::new(1).write(&data.join("face.wasm"));
    // Of several that add the same plugin one does; of several that remove it one does; and in between nothing is broken.
    for _ in 0..4 {
        let added = each(0..8, |_| Zipfs(data).run(&["plugin", "add", "--yes", file.to_str().unwrap()]).status.success());
        assert_eq!((added, names(data).len(), components(data).len()), (1, 1, 1));
        let removed = each(0..8, |_| Zipfs(data).run(&["plugin", "remove", "faces-00001"]).status.success());
        assert_eq!((removed, names(data).len(), components(data).len()), (1, 0, 0));
    }
    // Everything at once, with a server that calls whatever is there.
    let server = Server::on(std::sync::Arc::new(tempfile::tempdir().unwrap()));
    server.handshake(json!({}));
    let data = server.data();
    let versions: Vec<String> = (1..=4)
        .map(|version| Face::new(1).version(version).write(&data.join(format!("{version}.face"))).display().to_string())
        .collect();
    std::thread::scope(|scope| {
        for turn in 0..4_usize {
            let versions = &versions;
            scope.spawn(move || {
                for round in 0..6_usize {
                    let file = &versions[(turn + round) % 4];
                    match (turn + round) % 3 {
                        0 => drop(Zipfs(data).run(&["plugin", "add", "--yes", file])),
                        1 => drop(Zipfs(data).run(&["plugin", "update", "faces-00001", "--from", file, "--approve"])),
                        _ => drop(Zipfs(data).run(&["plugin", "remove", "faces-00001"])),
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..200 {
                let answer = server.request("tools/call", json!({"name": "faces_00001", "arguments": {}}));
                let said = answer["result"]["structuredContent"]["version"].as_str();
                // It is there and answers, or it is not there; or it went between being found and being loaded.
                let gone = answer["error"]["code"] == -32602 || answer.to_string().contains("PLUGIN_CHANGED");
                assert!(said.is_some_and(|said| said.ends_with("0000.0.0")) || gone, "{answer}");
            }
        });
    });
    let output = Zipfs(data).run(&["plugin", "verify"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Zipfs(data).run(&["plugin", "remove", "faces-00001"]);
    assert_eq!(components(data), [""; 0]);
}
