//! Plugins of other systems, added to a host that knows nothing of them: text editing by hashes, and two tools that look at files.
//! On a session and on a directory that a person granted.

mod edits;
mod http;
mod large;
mod rpc;
mod sessions;
mod together;
mod web;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Reply, Server, Zipfs, packed_plugin};

/// A server with one of the plugins added by hand, bound to a directory of its own.
pub struct Rooted {
    pub server: Server,
    pub root: tempfile::TempDir,
}

/// What every plugin of the tests is granted besides its root.
fn grants_of(plugin: &str) -> &'static [&'static str] {
    match plugin {
        "rootspace" => &["--grant", "files"],
        _ => &[],
    }
}

/// Adds a plugin to a data directory, as a person would.
#[track_caller]
pub fn add(data: &Path, plugin: &str, more: &[&str]) -> String {
    let file = packed_plugin(plugin);
    let mut arguments = vec!["plugin", "add", file.to_str().expect("text"), "--yes"];
    arguments.extend(grants_of(plugin));
    arguments.extend(more);
    Zipfs(data).ok(&arguments)
}

impl Rooted {
    pub fn new(plugin: &str) -> Rooted {
        Rooted::with(plugin, &[])
    }

    /// With these files in the root.
    pub fn with(plugin: &str, files: &[(&str, &str)]) -> Rooted {
        let root = tempfile::tempdir().expect("a root");
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
            std::fs::write(path, text).expect("a file");
        }
        let server = serve_root(plugin, root.path());
        Rooted { server, root }
    }

    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.server.call(tool, arguments)
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.path().join(path)).expect("a text in the root")
    }

    pub fn hash(&self, path: &str) -> String {
        hash_of(&self.root.path().join(path))
    }

    #[track_caller]
    pub fn resource(&self, uri: &str) -> Value {
        self.server.request("resources/read", json!({"uri": uri}))
    }
}

/// A server on a data directory of its own, with the plugin bound to this directory.
pub fn serve_root(plugin: &str, root: &Path) -> Server {
    let data = Arc::new(tempfile::tempdir().expect("a data directory"));
    add(data.path(), plugin, &["--grant", &format!("root={}", root.display())]);
    let server = Server::on(data);
    server.handshake(json!({}));
    server
}

/// SHA-256 of a file, in hexadecimal.
pub fn hash_of(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("the file is there");
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every source of the host.
fn sources(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path => found.push(path),
        }
    }
}

#[test]
fn the_host_knows_neither_plugin() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 100, "the sources of the host are somewhere else");
    for path in found {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for name in ["rootspace", "RootSpace", "ROOTSPACE", "\"fs.", "fs.readFile", "fs.listDirectory", "MCP_SERVER_ROOT_DIR"] {
            assert!(!text.contains(name), "{} says {name}", path.display());
        }
    }
}
