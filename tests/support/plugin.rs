//! A guest with a manifest, as an author would hand it on.

use std::path::Path;

use super::{Server, Zipfs, guest};

/// A directory with a guest and its `plugin.toml`. It goes away with the test.
pub struct Plugin {
    dir: tempfile::TempDir,
}

impl Plugin {
    /// A manifest with these tables besides name and version.
    pub fn of(name: &str, tables: &str) -> Plugin {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::copy(guest(name), dir.path().join("component.wasm")).expect("the guest");
        let manifest = format!("name = \"{name}\"\nversion = \"0.1.0\"\n{tables}");
        std::fs::write(dir.path().join("plugin.toml"), manifest).expect("the manifest");
        Plugin { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Adds it with these grants, or without any.
    #[track_caller]
    pub fn add(&self, data: &Path, grants: &[&str]) {
        let path = self.path().to_str().expect("text");
        let mut words = vec!["plugin", "add", path, "--yes", "--without-grants"];
        for grant in grants {
            words.extend(["--grant", grant]);
        }
        Zipfs(data).ok(&words);
    }
}

impl Server {
    /// A server with one plugin.
    #[track_caller]
    pub fn having(plugin: &Plugin, grants: &[&str], config: serde_json::Value) -> Server {
        let server = Server::with(config);
        plugin.add(server.data(), grants);
        server
    }

    /// What a person types to grant or revoke.
    #[track_caller]
    pub fn grant(&self, plugin: &str, what: &str) {
        self.cli().ok(&["plugin", "grant", plugin, what]);
    }

    #[track_caller]
    pub fn revoke(&self, plugin: &str, what: &[&str]) {
        let mut words = vec!["plugin", "revoke", plugin];
        words.extend(what);
        self.cli().ok(&words);
    }

    /// Grants a secret, whose value comes from standard input.
    #[track_caller]
    pub fn grant_secret(&self, plugin: &str, word: &str, value: &str) -> String {
        use std::io::Write;
        let mut child = self
            .cli()
            .command()
            .args(["plugin", "grant", plugin, word])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("zipfs starts");
        child.stdin.take().expect("a pipe").write_all(value.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        said
    }
}
