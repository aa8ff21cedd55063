//! What an author of plugins is given: a start, a bench, and a guide that says how.

mod bench;
mod check;
mod guide;
mod languages;
mod others;
mod tries;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Builds a project in Rust the way its author would, with the crates that the workspace was built with, so that nothing has to be
/// fetched; and puts the component where it is looked for. What is compiled is kept from one run of the tests to the next.
#[track_caller]
fn build_rust(project: &Path) {
    std::fs::copy(root().join("Cargo.lock"), project.join("Cargo.lock")).expect("a lock file");
    let target = root().join("target/authors");
    let built = cargo(project, &["build", "--release", "--offline", "--target", "wasm32-wasip2"]).env("CARGO_TARGET_DIR", &target);
    let output = built.output().expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = project.join("target/wasm32-wasip2/release");
    std::fs::create_dir_all(&folder).expect("a directory");
    let name = project.file_name().and_then(|name| name.to_str()).expect("a name").replace('-', "_");
    let component = format!("{name}.wasm");
    std::fs::copy(target.join("wasm32-wasip2/release").join(&component), folder.join(&component)).expect("the component");
}

/// Cargo without what the outer build was told.
fn cargo(directory: &Path, arguments: &[&str]) -> Cargo {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(arguments)
        .current_dir(directory)
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    Cargo(command)
}

struct Cargo(Command);

impl Cargo {
    fn env(mut self, name: &str, value: &Path) -> Cargo {
        self.0.env(name, value);
        self
    }

    fn output(mut self) -> std::io::Result<std::process::Output> {
        self.0.output()
    }
}

/// A directory for a plugin made of one of the guests.
fn folder(name: &str, manifest: &str) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().to_owned();
    std::fs::copy(crate::support::guest(name), path.join(format!("{name}.wasm"))).expect("the guest");
    std::fs::write(path.join("plugin.toml"), manifest).expect("the manifest");
    (place, path)
}
