//! Plugins of `components/` that are not in the binary, built once for a run of the tests, as they are handed out: a directory with
//! the component and its `plugin.toml`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Directory of a plugin.
pub fn plugin_directory(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(build).join(name);
    assert!(path.is_dir(), "components/{name} is not among those that are built here");
    path
}

const NAMES: [&str; 2] = ["rootspace", "fs"];

/// With the flags and in the target directory of the build script, whose dependencies are made already.
fn build() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let target = root.join("target/guests");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "guest",
        "--target",
        "wasm32-wasip2",
        "--target-dir",
    ]);
    cargo
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+simd128");
    for name in NAMES {
        cargo.args(["--package", &format!("zipfs-{name}")]);
    }
    assert!(cargo.status().expect("cargo can be run").success(), "the plugins do not build");
    // Several runs of the tests can come here at once.
    let directory = target.join(format!("plugins-{}", std::process::id()));
    for name in NAMES {
        let plugin = directory.join(name);
        std::fs::create_dir_all(&plugin).expect("a directory for the plugin");
        let built = target.join("wasm32-wasip2/guest").join(format!("zipfs_{name}.wasm"));
        std::fs::copy(built, plugin.join(format!("{name}.wasm"))).expect("the component was built");
        std::fs::copy(root.join("components").join(name).join("plugin.toml"), plugin.join("plugin.toml")).expect("its plugin.toml");
    }
    directory
}
