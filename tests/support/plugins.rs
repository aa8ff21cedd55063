//! Plugins of `components/` that are not in the binary, built once for a run of the tests, as they are handed out: packed into one
//! file each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::Zipfs;

/// The packed file of a plugin.
pub fn packed_plugin(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(build).join(format!("{name}.wasm"));
    assert!(path.is_file(), "components/{name} is not among those that are built here");
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
    let _ = std::fs::remove_dir_all(&directory);
    for name in NAMES {
        let plugin = directory.join(name);
        std::fs::create_dir_all(&plugin).expect("a directory for the plugin");
        let built = target.join("wasm32-wasip2/guest").join(format!("zipfs_{name}.wasm"));
        std::fs::copy(built, plugin.join(format!("{name}.wasm"))).expect("the component was built");
        std::fs::copy(root.join("components").join(name).join("plugin.toml"), plugin.join("plugin.toml")).expect("its plugin.toml");
        let packed = directory.join(format!("{name}.wasm"));
        Zipfs(&directory).ok(&["plugin", "pack", plugin.to_str().expect("text"), "--output", packed.to_str().expect("text")]);
        // What is added is the one file and nothing that lies about.
        std::fs::remove_dir_all(&plugin).expect("the parts can go");
    }
    directory
}
