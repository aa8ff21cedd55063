//! The guests of `tests/guests`, built once for a run of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Path of a guest's component.
pub fn guest(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(build).join(format!("{}.wasm", name.replace('-', "_")));
    assert!(path.exists(), "tests/guests has no {name}");
    path
}

/// Path of a component of `components/` that is not part of the binary, built now.
pub fn component(package: &str) -> PathBuf {
    let target = build_for_guests(&["--package", package, "--lib"]);
    target.join(format!("{}.wasm", package.replace('-', "_")))
}

fn build() -> PathBuf {
    build_for_guests(&["--package", "zipfs-guests", "--examples"]).join("examples")
}

/// Like the build script does for bundled components: a target directory of its own, and no flags of the outer build.
fn build_for_guests(what: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let target = root.join("target/guests");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(root)
        .args(["build", "--quiet", "--locked"])
        .args(what)
        .args(["--profile", "test-guest", "--target", "wasm32-wasip2"])
        .arg("--target-dir")
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+simd128");
    assert!(cargo.status().expect("cargo can be run").success(), "the guests do not build: {what:?}");
    target.join("wasm32-wasip2/test-guest")
}
