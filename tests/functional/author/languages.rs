//! A project in each language: made, built with its own tools, checked, tested, and used.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{build_rust, cargo, root};
use crate::support::{Archive, Server, Zipfs, have, skipped};

/// A project that was just made.
fn project(place: &Path, name: &str, language: &str) -> PathBuf {
    let path = place.join(name);
    Zipfs(place).ok(&["plugin", "new", name, "--lang", language, "--directory", path.to_str().unwrap()]);
    path
}

/// What every project must do once it is built.
#[track_caller]
fn holds_up(project: &Path, tool: &str) {
    let server = Server::start();
    let (cli, path) = (server.cli(), project.to_str().unwrap());
    let checked = cli.run(&["plugin", "check", path]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let tested = cli.run(&["plugin", "test", path]);
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
    cli.ok(&["plugin", "add", "--yes", path]);
    let archive = Archive::of(&[("poem.txt", "one two\nthree\n")]);
    server.open(&archive).call(tool, json!({"path": "poem.txt"})).is(json!({"lines": 2, "words": 3, "characters": 14}));
    let archive = Archive::of(&[("a", "")]);
    let message = server.open(&archive).call(tool, json!({"path": "nothing.txt"})).failure().1;
    assert!(message.contains("nothing.txt"), "{message}");
}

/// Runs a program of a language's own tools. If it fails, most likely nothing could be fetched, and that is said.
fn runs(command: &mut Command, what: &str) -> bool {
    match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            skipped(&format!("{what} failed: {}", text.lines().last().unwrap_or_default()));
            false
        }
        Err(error) => {
            skipped(&format!("{what}: {error}"));
            false
        }
    }
}

#[test]
fn rust() {
    let place = tempfile::tempdir().unwrap();
    let project = project(place.path(), "rusty-words", "rust");
    build_rust(&project);
    let target = root().join("target/authors");
    let tested = cargo(&project, &["test", "--offline"]).env("CARGO_TARGET_DIR", &target).output().unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
    let strict = Zipfs(place.path()).run(&["plugin", "check", project.to_str().unwrap(), "--strict"]);
    assert!(strict.status.success(), "{}", String::from_utf8_lossy(&strict.stdout));
    holds_up(&project, "rusty_words_count");
}

#[test]
fn javascript() {
    if !have("npm", "the project in JavaScript builds") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let project = project(place.path(), "script-words", "js");
    let npm = |arguments: &[&str]| runs(Command::new("npm").args(arguments).current_dir(&project), &format!("npm {arguments:?}"));
    if npm(&["install", "--no-audit", "--no-fund"]) {
        assert!(npm(&["run", "build"]), "installed, but does not build");
        holds_up(&project, "script_words_count");
    }
}

#[test]
fn python() {
    if !have("python3", "the project in Python builds") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let project = project(place.path(), "snake-words", "python");
    let venv = place.path().join("venv");
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
    if !runs(Command::new("python3").args(["-m", "venv"]).arg(&venv), "python3 -m venv")
        || !runs(Command::new(venv.join("bin/python")).args(pip).current_dir(&project), "pip install componentize-py")
    {
        return;
    }
    std::fs::create_dir(project.join("dist")).unwrap();
    let arguments = ["-d", "wit", "-w", "plugin", "componentize", "plugin", "-o", "dist/snake-words.wasm"];
    let built = Command::new(venv.join("bin/componentize-py")).args(arguments).current_dir(&project).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    holds_up(&project, "snake_words_count");
}
