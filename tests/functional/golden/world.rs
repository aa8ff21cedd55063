//! What is around a server in a transcript: archives, locks, and what others do to them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, FlockOperation, Mode};
use serde_json::Value;

use super::neutral::Names;
use crate::support::{Server, zip};

/// Paths in a transcript begin with `<dir>`, the directory of the archives, or `<data>`, that of the server.
#[derive(Default)]
pub struct World {
    scene: Option<(Server, tempfile::TempDir)>,
    locks: Vec<File>,
    names: Names,
}

impl World {
    pub fn server(&self) -> &Server {
        &self.scene.as_ref().expect("a transcript begins with `@ server`").0
    }

    /// Lets something happen. The word says what, the rest is a path and what belongs to it, in JSON.
    pub fn happen(&mut self, event: &str) {
        let (word, rest) = event.split_once(' ').unwrap_or((event, ""));
        let rest = self.put_back(rest);
        let (path, rest) = rest.split_once(' ').unwrap_or((&rest, ""));
        let at = PathBuf::from(path);
        let json = || serde_json::from_str::<Value>(rest).unwrap_or_else(|error| panic!("{event}: {error}"));
        match word {
            // A new server with an empty data directory; the whole line is its configuration.
            "server" => {
                let config = serde_json::from_str(event.trim_start_matches("server ")).expect("a configuration");
                self.scene = Some((Server::with(config), tempfile::tempdir().expect("a directory")));
            }
            "archive" => {
                let files = json();
                let files: Vec<(&str, &str)> =
                    files.as_object().unwrap().iter().map(|(name, text)| (name.as_str(), text.as_str().unwrap())).collect();
                std::fs::write(at, zip(&files)).unwrap();
            }
            // One number in the headers of the first entry: what, where, and the number.
            "encrypt" => patch_headers(&at, 6, 8, 1),
            "recode" => patch_headers(&at, 8, 10, 97),
            "damage" => {
                let file = File::options().read(true).write(true).open(at).unwrap();
                let mut byte = [0];
                file.read_exact_at(&mut byte, 60).unwrap();
                file.write_all_at(&[byte[0] ^ 0xff], 60).unwrap();
            }
            "file" => std::fs::write(at, json().as_str().unwrap()).unwrap(),
            "remove" if at.is_dir() => std::fs::remove_dir_all(at).unwrap(),
            "remove" => std::fs::remove_file(at).unwrap(),
            "link" => std::os::unix::fs::symlink(json().as_str().unwrap(), at).unwrap(),
            "pipe" => rustix::fs::mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap(),
            // The session was last used that many hours ago.
            "age" => {
                let hours = json().as_u64().unwrap();
                let lock = File::options().write(true).open(at.join("metadata.json.lock")).unwrap();
                lock.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
            }
            "lock" => {
                let lock = File::open(at.join("metadata.json.lock")).unwrap();
                rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
                self.locks.push(lock);
            }
            "unlock" => self.locks.clear(),
            _ => panic!("nobody knows how to {word:?}"),
        }
    }

    /// Real paths and ids in the place of their words.
    pub fn put_back(&self, text: &str) -> String {
        let text = self.names.put_back(text);
        match &self.scene {
            Some((server, dir)) => {
                text.replace("<data>", server.data().to_str().unwrap()).replace("<dir>", dir.path().to_str().unwrap())
            }
            None => text,
        }
    }

    pub fn neutral(&mut self, text: &str) -> String {
        let (server, dir) = self.scene.as_ref().expect("a server");
        self.names.neutral(text, &[(server.data(), "<data>"), (dir.path(), "<dir>")])
    }
}

/// Sets a 16-bit number in the local header and in the directory's record of the first entry.
fn patch_headers(path: &std::path::Path, local_at: usize, central_at: usize, number: u16) {
    let mut bytes = std::fs::read(path).unwrap();
    let central = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("a directory");
    for at in [local_at, central + central_at] {
        bytes[at..at + 2].copy_from_slice(&number.to_le_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}
