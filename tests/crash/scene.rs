//! A server with a session, one command to disturb, and what has to hold afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::stepper::Tracer;
use crate::support::{Archive, Server, Zipfs, zip};

/// What is disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Open,
    Write,
    Sync,
    /// Of an archive so large that it is put on disk while it is written.
    SyncLarge,
    Close,
}

impl Act {
    pub fn is_sync(self) -> bool {
        matches!(self, Act::Sync | Act::SyncLarge)
    }

    /// The archive before the act.
    fn old(self) -> Vec<u8> {
        /// Compressing it takes longer than any test.
        static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| zip(&[OLD, &[(BALLAST_NAME, BALLAST.as_str())]].concat()));
        match self {
            Act::SyncLarge => LARGE.clone(),
            _ => zip(OLD),
        }
    }

    /// What is in the archive after a sync.
    fn synced(self) -> Files {
        let mut new = files(&[("a.txt", "ONE, and longer than before"), ("d/c.txt", "three"), ("n.txt", "new")]);
        if self == Act::SyncLarge {
            new.insert(BALLAST_NAME.to_owned(), BALLAST.clone().into_bytes());
        }
        new
    }
}

pub struct Scene {
    pub server: Server,
    pub archive: Archive,
    /// Whether the server is kept from writing, so that even its answer may be lost.
    pub is_mute: bool,
    act: Act,
    old: Vec<u8>,
}

type Files = BTreeMap<String, Vec<u8>>;

const OLD: &[(&str, &str)] = &[("a.txt", "one"), ("b.txt", "two"), ("d/c.txt", "three")];

fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect()
}

const BALLAST_NAME: &str = "z.txt";
/// Does not get small: six bits in each byte of 24 MiB.
static BALLAST: LazyLock<String> = LazyLock::new(|| {
    let mut state = 7u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    });
    letters.take(24 << 20).collect()
});

impl Scene {
    /// Everything up to the act.
    pub fn prepare(act: Act) -> Scene {
        let place = std::env::temp_dir();
        Scene::at(&place, &place, act, json!({}))
    }

    /// The same with a configuration, the archive in one directory and the server's data in another.
    pub fn at(sources: &Path, data: &Path, act: Act, config: Value) -> Scene {
        let archive = Archive::within(sources, "sample.zip", &act.old());
        let server = Server::within(data, config);
        let old = std::fs::read(archive.path()).unwrap();
        if act != Act::Open {
            server.open(&archive);
        }
        if act.is_sync() {
            edit(&server);
        }
        Scene { server, archive, is_mute: false, act, old }
    }

    /// The act, and what came back: nothing if the server went away.
    pub fn perform(&self) -> Option<Value> {
        let (tool, arguments) = match self.act {
            Act::Open => ("zipfs_open", json!({"path": self.archive.path()})),
            Act::Write => ("zipfs_write", json!({"path": "a.txt", "content": "ONE, and longer than before"})),
            Act::Sync | Act::SyncLarge => ("zipfs_sync", json!({})),
            Act::Close => ("zipfs_close", json!({})),
        };
        let id = self.server.begin("tools/call", json!({"name": tool, "arguments": arguments}));
        if self.is_mute {
            return self.server.answer_within(id, Duration::from_secs(2)).flatten();
        }
        self.server.answer_if_any(id)
    }

    /// Performs the act under strace, and gives its answer and the log.
    pub fn traced(&self, calls: &str, inject: Option<&str>) -> (Option<Value>, String) {
        let log = std::env::temp_dir().join(format!("{}.strace", self.server.process().0));
        let tracer = Tracer::attach(self.server.process().0, calls, inject, &log);
        let answer = self.perform();
        let text = tracer.detach(answer.is_none() && !self.is_mute);
        let _ = std::fs::remove_file(&log);
        (answer, text)
    }

    /// What has to hold whatever happened, now that the cause is gone. The server is ended; other processes go on.
    #[track_caller]
    pub fn check(self, what: &str) {
        let Scene { server, archive, act, old, .. } = self;
        let data = server.data_handle();
        drop(server);
        check_source(&archive, act, &old, what);
        let cli = Zipfs(data.path());
        match act {
            Act::Sync | Act::SyncLarge => {
                expect(&cli, "zipfs_status", &[], what);
                expect(&cli, "zipfs_sync", &[], what);
                assert!(archive.read() == act.synced(), "{what}: the sync after it brings the archive up to date");
                assert!(std::fs::read(archive.dir().join("sample.bak.zip")).unwrap() == old, "{what}: the backup is another");
                expect(&cli, "zipfs_sync", &[], what);
                check_names(archive.dir(), &["sample.bak.zip", "sample.zip"], what);
            }
            Act::Write => {
                expect(&cli, "zipfs_status", &[], what);
                expect(&cli, "zipfs_sync", &[], what);
                let text = &archive.read()["a.txt"];
                assert!(text == b"one" || text == &act.synced()["a.txt"], "{what}: a.txt is {text:?}");
            }
            Act::Close => {
                let listed = expect(&cli, "zipfs_sessions", &[], what);
                if !listed["sessions"].as_array().unwrap().is_empty() {
                    let status = expect(&cli, "zipfs_status", &[], what);
                    assert_eq!(status["unchanged_count"], 3, "{what}: a session that is there is whole");
                    expect(&cli, "zipfs_close", &[], what);
                }
            }
            Act::Open => {
                let listed = expect(&cli, "zipfs_sessions", &[], what);
                for session in listed["sessions"].as_array().unwrap() {
                    let id = format!("session={}", session["id"].as_str().unwrap());
                    let status = expect(&cli, "zipfs_status", &["--arg", &id], what);
                    assert_eq!(status["unchanged_count"], 3, "{what}: a session that is there is whole");
                    expect(&cli, "zipfs_close", &["--arg", &id], what);
                }
                let path = format!("path={}", archive.path().display());
                assert_eq!(expect(&cli, "zipfs_open", &["--arg", &path], what)["file_count"], 3, "{what}");
                expect(&cli, "zipfs_sync", &[], what);
            }
        }
        check_data(&data.path().join("workspaces"), what);
        if !act.is_sync() && act != Act::Write {
            assert_eq!(std::fs::read(archive.path()).unwrap(), old, "{what}: nobody touched the archive");
        }
    }
}

/// One file modified, one added, one deleted.
pub fn edit(server: &Server) {
    server.call("zipfs_write", json!({"path": "a.txt", "content": "ONE, and longer than before"})).value();
    server.call("zipfs_write", json!({"path": "n.txt", "content": "new"})).value();
    server.call("zipfs_delete", json!({"path": "b.txt"})).value();
}

/// Old, byte for byte, or new; and whole for others too.
#[track_caller]
fn check_source(archive: &Archive, act: Act, old: &[u8], what: &str) {
    let now = std::fs::read(archive.path()).unwrap_or_else(|error| panic!("{what}: no archive: {error}"));
    if now != old {
        assert!(act.is_sync(), "{what}: the archive changed");
        assert!(archive.read() == act.synced(), "{what}: the archive is neither the old nor the new one");
    }
    check_with_unzip(archive.path(), what);
}

#[track_caller]
pub fn check_with_unzip(path: &Path, what: &str) {
    if let Ok(output) = Command::new("unzip").arg("-tqq").arg(path).output() {
        assert!(output.status.success(), "{what}: unzip -t: {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The answer of a command that has to work.
#[track_caller]
pub fn expect(cli: &Zipfs, tool: &str, arguments: &[&str], what: &str) -> Value {
    let output = cli.command().args(["call", tool]).args(arguments).output().expect("zipfs can be run");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: then {tool}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{what}: then {tool} answers no JSON"))
}

/// Nothing is left of what was on its way.
#[track_caller]
fn check_data(workspaces: &Path, what: &str) {
    for name in names(workspaces) {
        assert!(!name.starts_with(".opening-") && !name.starts_with(".closing-"), "{what}: {name} is left");
        if name.starts_with('.') {
            continue;
        }
        let session = workspaces.join(name);
        let known = ["baseline", "contents", "metadata.json", "metadata.json.lock", "original.zip", "tmp", "usage"];
        check_names(&session, &known, what);
        check_names(&session.join("tmp"), &[], what);
        let metadata: Value = serde_json::from_slice(&std::fs::read(session.join("metadata.json")).unwrap()).unwrap();
        assert_eq!(metadata["state"], "open", "{what}");
        assert_eq!(metadata.get("pending"), None, "{what}");
    }
}

#[track_caller]
pub fn check_names(dir: &Path, expected: &[&str], what: &str) {
    assert_eq!(names(dir), expected, "{what}: in {}", dir.display());
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = paths.map(|path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
