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

/// The requirements of the system whose editing this is, by the numbers that its documentation gives them.
const REQUIREMENTS: [(&str, &[u32]); 2] = [
    ("mcp", &[1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 20, 21, 25, 26, 27, 28, 30, 31, 32, 33, 34, 40, 41, 42, 45, 46, 50, 51, 52]),
    ("auth", &[20, 21, 22, 23, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]),
];

#[test]
fn every_requirement_has_a_test_that_is_named_by_it() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let mut files = Vec::new();
    for place in ["tests/functional/roots", "components/rootspace"] {
        sources(&repository.join(place), &mut files);
    }
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let mut named = std::collections::BTreeSet::new();
    for text in texts {
        // The attribute stands right before the function, also where many inputs are made for it.
        for (_, rest) in text.match_indices("#[test]").map(|(at, found)| text.split_at(at + found.len())) {
            let name = rest.trim_start().strip_prefix("fn ").and_then(|rest| rest.split('(').next()).unwrap_or_default();
            let mut family = "";
            for word in name.split('_') {
                match word.parse::<u32>() {
                    Ok(number) if word.len() == 3 => drop(named.insert((family.to_owned(), number))),
                    _ => family = word,
                }
            }
        }
    }
    let wanted = REQUIREMENTS.iter().flat_map(|(family, numbers)| numbers.iter().map(|number| ((*family).to_owned(), *number)));
    let missing: Vec<(String, u32)> = wanted.filter(|one| !named.contains(one)).collect();
    assert!(missing.is_empty(), "no test says: {missing:?}");
}
