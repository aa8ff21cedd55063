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
