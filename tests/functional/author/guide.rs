//! The commands of `components/GUIDE.md`, run as they stand there.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::root;
use crate::support::{Archive, Server};

/// The blocks of shell commands under a heading.
fn commands(heading: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(root().join("components/GUIDE.md")).unwrap();
    let section = guide.split("\n## ").find(|section| section.starts_with(heading)).unwrap_or_else(|| panic!("no {heading}"));
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap_or_default());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// Runs a line in a directory, in a shell with our zipfs in it.
#[track_caller]
fn run(line: &str, directory: &Path, data: &Path) -> String {
    let zipfs = Path::new(env!("CARGO_BIN_EXE_zipfs")).parent().unwrap();
    let path = format!("{}:{}", zipfs.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-euc", line])
        .current_dir(directory)
        .env("PATH", path)
        .env("ZIPFS_DATA_DIR", data)
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}\n{out}\n{err}");
    out.into_owned()
}

/// The newcomer's path: a project, a build, a tool that an agent sees and uses, its tests, and the end of it.
#[test]
fn from_nothing_to_a_tool_that_an_agent_uses() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start();
    let archive = Archive::of(&[("poem.txt", "one two\nthree\n")]);
    std::fs::copy(archive.path(), place.path().join("poems.zip")).unwrap();
    let mut directory = place.path().to_owned();
    let (mut building, mut seen) = (Duration::ZERO, Vec::new());
    let began = Instant::now();
    for line in commands("In five minutes") {
        if let Some(next) = line.strip_prefix("cd ") {
            directory = directory.join(next);
            // The crates that the workspace was built with, so that nothing has to be fetched.
            std::fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
            continue;
        }
        let before = Instant::now();
        let printed = run(&line, &directory, server.data());
        match line.split(' ').take(3).collect::<Vec<_>>()[..] {
            ["cargo", ..] => building += before.elapsed(),
            ["zipfs", "plugin", "add"] => {
                assert!(printed.contains("my_words_count"), "{printed}");
                // An agent sees it on the server that ran before it was made, and uses it on a session of its own.
                server.wait("news of the tools", |message| message["method"] == "notifications/tools/list_changed");
                let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
                let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "my_words_count").unwrap().clone();
                assert_eq!(tool["annotations"]["readOnlyHint"], json!(true));
                let session = server.open(&archive);
                session.call("my_words_count", json!({"path": "poem.txt"})).is(json!({"lines": 2, "words": 3, "characters": 14}));
                session.call("zipfs_close", json!({})).value();
            }
            ["zipfs", "call", ..] => {
                let counted: Value = serde_json::from_str(&printed).unwrap();
                assert_eq!(counted, json!({"lines": 2, "words": 3, "characters": 14}));
            }
            ["zipfs", "plugin", "test"] => assert!(printed.contains("case my_words_count/poem:"), "{printed}"),
            _ => {}
        }
        seen.push(line);
    }
    let took = began.elapsed() - building;
    assert!(took < Duration::from_secs(120), "{took:?} without building");
    for step in ["plugin new", "plugin check", "plugin test", "plugin add", "zipfs call", "plugin bench", "plugin remove"] {
        assert!(seen.iter().any(|line| line.contains(step)), "the guide does not show {step}");
    }
    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "my_words_count"), "it was removed");
}

/// The block of a language under a heading.
fn block(heading: &str, language: &str) -> String {
    let guide = std::fs::read_to_string(root().join("components/GUIDE.md")).unwrap();
    let section = guide.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let from = section.split(&format!("```{language}\n")).nth(1).unwrap();
    from.split("```").next().unwrap().to_owned()
}

/// A server that tells the weather to those who have the key. Returns its port and what it was asked.
fn weather_server() -> (u16, std::sync::mpsc::Receiver<String>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let head = head.join("\n");
            let knows = head.to_lowercase().contains("authorization: bearer s3cret");
            let (status, body) = if knows { ("200 OK", r#"{"celsius": 4.5, "sky": "fog"}"#) } else { ("401 Unauthorized", "{}") };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = (&stream).write_all(answer.as_bytes());
            if sender.send(head).is_err() {
                return;
            }
        }
    });
    (port, asked)
}

/// The second example: the network and a secret, against a server on this machine in place of the one on the page.
#[test]
fn a_tool_that_asks_a_server_with_a_secret() {
    const SECTION: &str = "With the network and a secret";
    let place = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("key.txt"), "s3cret\n").unwrap();
    let (port, asked) = weather_server();
    let here = format!("127.0.0.1:{port}");
    let mut directory = place.path().to_owned();
    let mut called = None;
    for line in commands(SECTION) {
        if let Some(next) = line.strip_prefix("cd ") {
            directory = directory.join(next);
            std::fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
            let source = block(SECTION, "rust");
            let manifest = block(SECTION, "toml");
            std::fs::write(directory.join("src/lib.rs"), &source).unwrap();
            // The page's own words pass its own unit test, before they are turned to this machine.
            let target = root().join("target/authors");
            let tested = super::cargo(&directory, &["test", "--offline"]).env("CARGO_TARGET_DIR", &target).output().unwrap();
            assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
            std::fs::write(directory.join("src/lib.rs"), source.replace("https://api.weather.example", &format!("http://{here}")))
                .unwrap();
            let manifest = manifest.replace("api.weather.example", "127.0.0.1");
            let manifest = manifest.replace("methods = ", &format!("scheme = \"http\"\nport = {port}\nmethods = "));
            std::fs::write(directory.join("plugin.toml"), manifest).unwrap();
            continue;
        }
        let printed = run(&line.replace("api.weather.example", &here), &directory, data.path());
        if line.starts_with("cargo build") {
            // What it reaches for is found out without anything being granted, and without anybody being asked.
            let proposed = run("zipfs plugin test --propose .", &directory, data.path());
            assert!(proposed.contains("[[http]]\nhost = \"127.0.0.1\"") && proposed.contains("access = \"none\""), "{proposed}");
            assert!(asked.try_recv().is_err(), "nobody was to be asked");
        }
        if line.starts_with("zipfs plugin add") {
            // Everybody can read what was agreed to; nobody can read the key.
            assert!(!printed.contains("s3cret"), "{printed}");
        }
        if line.starts_with("zipfs call") {
            called = Some(serde_json::from_str::<Value>(&printed).unwrap());
            let head = asked.recv_timeout(Duration::from_secs(10)).unwrap();
            assert!(head.starts_with("GET /now?city=%42%65%72%6E HTTP/1.1"), "{head}");
        }
        if line.starts_with("zipfs plugin revoke") {
            let refused = crate::support::Zipfs(data.path()).run(&["call", "weather_now", "--arg", "city=Bern"]);
            assert!(!refused.status.success(), "the secret is gone and the answer still comes");
        }
    }
    assert_eq!(called, Some(json!({"celsius": 4.5, "sky": "fog"})));
}
