//! Several processes that share nothing but a directory: of those that name the same hash one wins, and nothing is lost.

use serde_json::{Value, json};

use super::{Rooted, hash_of, serve_root};

const WORKERS: usize = 4;

#[test]
fn mcp_032_of_calls_with_the_same_hash_one_wins_also_across_processes() {
    const ROUNDS: usize = 12;
    let rooted = Rooted::with("rootspace", &[("a", "begin\n")]);
    let others: Vec<_> = (1..WORKERS).map(|_| serve_root("rootspace", rooted.root.path())).collect();
    let servers: Vec<_> = std::iter::once(&rooted.server).chain(&others).collect();
    for round in 0..ROUNDS {
        let hash = rooted.hash("a");
        let edit = |worker: usize| {
            let text = format!("round {round} worker {worker}\n");
            match worker % 3 {
                0 => ("text.append", json!({"path": "a", "hash": hash, "content": text})),
                1 => ("text.insert", json!({"path": "/a", "hash": hash, "line": 1, "anchor": "begin", "content": text})),
                _ => ("text.patch", json!({"path": "x/../a", "hash": hash, "patch": format!("@@ -1,0 +2 @@\n+{text}")})),
            }
        };
        let answers: Vec<Value> = std::thread::scope(|scope| {
            // Each server is asked twice at once, so that calls of one process compete as well.
            let asked: Vec<_> = (0..2 * WORKERS)
                .map(|worker| {
                    let (server, (tool, arguments)) = (servers[worker % WORKERS], edit(worker));
                    scope.spawn(move || server.call(tool, arguments).0)
                })
                .collect();
            asked.into_iter().map(|asked| asked.join().expect("a call")).collect()
        });
        let won: Vec<&Value> = answers.iter().filter(|answer| answer["result"]["isError"] != json!(true)).collect();
        assert_eq!(won.len(), 1, "round {round}: {answers:?}");
        assert_eq!(won[0]["result"]["structuredContent"]["hash"], rooted.hash("a"));
        for lost in answers.iter().filter(|answer| answer["result"]["isError"] == json!(true)) {
            let code = &lost["result"]["structuredContent"]["error"]["code"];
            // An insertion before the line that another one moved is stale all the same.
            assert_eq!(code, "STALE_HASH", "{lost}");
        }
        let text = rooted.read("a");
        assert_eq!(text.matches("round").count(), round + 1, "{text}");
        // The line to insert before is the first again.
        std::fs::write(rooted.root.path().join("a"), format!("begin\n{}", text.replacen("begin\n", "", 1))).unwrap();
    }
}

#[test]
fn mcp_010_of_those_who_create_one_file_one_wins() {
    let rooted = Rooted::new("rootspace");
    let other = serve_root("rootspace", rooted.root.path());
    for round in 0..10 {
        let path = format!("new/{round}/a.md");
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..6)
                .map(|worker| {
                    let server = if worker % 2 == 0 { &rooted.server } else { &other };
                    let arguments = json!({"path": path, "content": worker.to_string()});
                    scope.spawn(move || server.call("file.create", arguments).0)
                })
                .collect();
            asked.into_iter().map(|asked| asked.join().expect("a call")).collect()
        });
        let won: Vec<&Value> = answers.iter().filter(|answer| answer["result"]["isError"] != json!(true)).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        assert_eq!(won[0]["result"]["structuredContent"]["hash"], hash_of(&rooted.root.path().join(&path)));
    }
}

#[test]
fn counting_by_several_processes_loses_nothing() {
    const EACH: u32 = 15;
    let rooted = Rooted::with("rootspace", &[("n", "0\n")]);
    let other = serve_root("rootspace", rooted.root.path());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let server = if worker % 2 == 0 { &rooted.server } else { &other };
            scope.spawn(move || {
                let mut done = 0;
                while done < EACH {
                    let read = server.call("text.read", json!({"path": "n"})).value();
                    let old = read["content"].as_str().unwrap().trim().to_owned();
                    let new = (old.parse::<u32>().unwrap() + 1).to_string();
                    let edit = json!({"path": "n", "hash": read["hash"], "lines": [1, 2], "old": old, "new": new});
                    let answer = server.call("text.replace", edit);
                    if answer.0["result"]["isError"] != json!(true) {
                        done += 1;
                    } else {
                        answer.fails("STALE_HASH");
                    }
                }
            });
        }
    });
    assert_eq!(rooted.read("n"), format!("{}\n", 4 * EACH));
}

#[test]
fn a_change_by_a_program_that_asks_nobody_is_noticed() {
    let rooted = Rooted::with("rootspace", &[("a", &"x\n".repeat(2_000_000))]);
    let path = rooted.root.path().join("a");
    let hash = rooted.hash("a");
    // The edit takes a while; somebody else writes to the file in the middle of it. Whoever is first, nothing is lost.
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            for _ in 0..50 {
                std::thread::sleep(std::time::Duration::from_millis(2));
                use std::io::Write;
                // Opened anew each time, as an editor does.
                if let Ok(mut file) = std::fs::OpenOptions::new().append(true).open(&path) {
                    let _ = file.write_all(b"theirs\n");
                }
            }
        }
    });
    let answer = rooted.call("text.append", json!({"path": "a", "hash": hash, "content": "ours\n"}));
    writer.join().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    if answer.0["result"]["isError"] == json!(true) {
        answer.fails("STALE_HASH");
        assert!(!text.contains("ours") && text.matches("theirs").count() == 50);
    } else {
        // Between the last look and the new name there are microseconds in which nobody can look.
        assert!(text.contains("ours") && text.matches("theirs").count() >= 49, "a change was lost");
    }
}
