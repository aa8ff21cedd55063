//! Archives that somebody made to harm us, through the built binary: the verdict of each, and what must hold whatever the verdict.

mod corpus;
mod faithful;
mod mutants;
mod round_trip;
mod traced;
mod verdicts;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zipfs_test_archives::Verdict;

use crate::support::{Reply, Server};

/// No archive holds the host for longer, however loaded the machine is.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server among files that nobody may touch.
struct Guarded {
    server: Server,
    outer: tempfile::TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl Guarded {
    fn start() -> Guarded {
        let (outer, data) = among_canaries();
        let server = Server::on(Arc::new(data));
        server.handshake(json!({}));
        let before = snapshot(outer.path(), server.data());
        Guarded { server, outer, before }
    }

    /// Opens an archive, which must not take long, and must leave nothing if it is refused.
    #[track_caller]
    fn open(&self, name: &str, bytes: &[u8]) -> Reply {
        let path = self.archive();
        std::fs::write(&path, bytes).expect("the archive can be written");
        let began = Instant::now();
        let reply = self.server.call("zipfs_open", json!({"path": path}));
        assert!(began.elapsed() < PATIENCE, "{name} took {:?}", began.elapsed());
        if reply.0["result"]["isError"] == json!(true) {
            assert_eq!(leftovers(self.server.data()), Vec::<String>::new(), "left by {name}");
        } else {
            check_extracted(name, &reply.value());
        }
        reply
    }

    /// Where the archive in question is put.
    fn archive(&self) -> PathBuf {
        self.server.data().join("../archive.zip")
    }

    fn close(&self) {
        self.server.call("zipfs_close", json!({"sync": false})).value();
        assert_eq!(leftovers(self.server.data()), Vec::<String>::new());
    }

    /// Nothing outside was made, changed or removed.
    #[track_caller]
    fn check_surroundings(&self) {
        assert_eq!(snapshot(self.outer.path(), self.server.data()), self.before, "something outside the workspaces changed");
        assert!(!Path::new("/tmp/zipfs-slip").exists(), "an archive got out");
    }
}

/// What is wrong with the outcome, if it is not the verdict.
fn missed(verdict: Verdict, reply: &Reply) -> Option<String> {
    let is_refused = reply.0["result"]["isError"] == json!(true);
    let warnings = || reply.value()["warnings"].as_array().cloned().unwrap_or_default();
    let is_met = match verdict {
        Verdict::Opens => !is_refused && warnings().is_empty(),
        Verdict::Warns(says) => {
            !is_refused && warnings().iter().any(|warning| warning.as_str().is_some_and(|it| it.contains(says)))
        }
        Verdict::Refused(code, says) => is_refused && reply.failure().0 == code && reply.failure().1.contains(says),
    };
    (!is_met).then(|| format!("{verdict:?}, but {}", reply.0["result"]["structuredContent"]))
}

/// No link, no device, nothing that others may write or that runs as somebody else, nothing that its owner cannot use.
fn check_extracted(name: &str, opened: &Value) {
    let mut pending = vec![PathBuf::from(opened["workspace_path"].as_str().expect("a path"))];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
            let metadata = entry.metadata().expect("a file");
            assert!(metadata.is_dir() || metadata.is_file(), "{name}: {:?}", entry.path());
            let least = if metadata.is_dir() { 0o700 } else { 0o600 };
            assert!(metadata.mode() & 0o7022 == 0 && metadata.mode() & least == least, "{name}: mode {:o}", metadata.mode());
            if metadata.is_dir() {
                pending.push(entry.path());
            }
        }
    }
}

/// A directory for the server's data among other files.
fn among_canaries() -> (tempfile::TempDir, tempfile::TempDir) {
    let outer = tempfile::tempdir().expect("a directory");
    for file in ["x", "a", "ws-evil/x", "etc/passwd", "tmp/keep", "home/.bashrc"] {
        let path = outer.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, format!("canary {file}")).expect("a canary");
    }
    let data = tempfile::Builder::new().prefix("data").tempdir_in(outer.path()).expect("a data directory");
    std::fs::write(data.path().join("x"), "canary").expect("a canary");
    (outer, data)
}

/// Everything below `outer`, except the workspaces, which are looked at on their own, the audit log, which has a line for each call,
/// and the archive in question.
fn snapshot(outer: &Path, data: &Path) -> BTreeMap<PathBuf, String> {
    let mut seen = BTreeMap::new();
    let mut pending = vec![outer.to_owned()];
    let skipped = [data.join("workspaces"), data.join("audit"), outer.join("archive.zip")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let metadata = entry.metadata().expect("metadata");
            if skipped.contains(&path) || metadata.is_dir() {
                pending.extend((!skipped.contains(&path)).then(|| path.clone()));
                continue;
            }
            let contents = std::fs::read(&path).map(|bytes| format!("{:08x}", crc32fast::hash(&bytes))).unwrap_or_default();
            seen.insert(path, format!("{:o} {} {contents}", metadata.mode(), metadata.len()));
        }
    }
    seen
}

/// Directories of sessions, published or not. Those of the host's own books stay.
fn leftovers(data: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(data.join("workspaces")) else { return Vec::new() };
    let entries = entries.map(|entry| entry.expect("an entry"));
    let names = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.') || name.starts_with(".opening")).collect()
}
