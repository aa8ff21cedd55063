//! Builds the bundled components for wasm32-wasip2, compiles them to machine code with the host's own settings, and writes the
//! table that embeds them.
//!
//! A cargo within cargo, so: its own target directory (the outer cargo holds the lock of ours), and none of the flags that the
//! outer build was given for another target.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

#[path = "src/sandbox/engine_config.rs"]
#[allow(dead_code)]
mod engine_config;

/// Folder in `components/`, and the package in it. These are compiled and embedded.
const COMPONENTS: [(&str, &str); 2] = [("zipfs", "zipfs-tools"), ("archive-zip", "zipfs-archive-zip")];

/// Embedded as it is: the demonstration adds it like a stranger's plugin.
const INTRUDER: (&str, &str) = ("intruder", "zipfs-intruder");

const TARGET: &str = "wasm32-wasip2";

fn main() -> Result<()> {
    let host = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = host.parent().context("the host has no parent directory")?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    watch(root);
    ensure_target()?;

    // Beside the profiles, so that release, test and clippy builds share the guests. `<target>/<profile>/build/<package>/out`
    let guests = out.ancestors().nth(4).context("OUT_DIR is not where it used to be")?.join("guests");
    build_components(root, &guests)?;

    let target = variable("TARGET")?;
    let engine = engine_config::portable_config(&target).and_then(|config| wasmtime::Engine::new(&config)).map_err(plain)?;
    let built = |package: &str| guests.join(TARGET).join("guest").join(format!("{}.wasm", package.replace('-', "_")));
    let mut table = String::new();
    for (folder, package) in COMPONENTS {
        table += &embed(folder, &root.join("components").join(folder), &built(package), &guests, &engine, &out)?;
    }
    let mut table = format!("/// The components in this binary.\npub static BUNDLED: &[Bundled] = &[\n{table}];\n");
    let (folder, package) = INTRUDER;
    std::fs::copy(built(package), out.join("intruder.wasm"))?;
    let manifest = root.join("components").join(folder).join("plugin.toml");
    table += &format!(
        "/// The guest of the demonstration, and its manifest.\npub static INTRUDER: (&[u8], &str) =\n    \
         (include_bytes!(concat!(env!(\"OUT_DIR\"), \"/intruder.wasm\")), include_str!({manifest:?}));\n"
    );
    std::fs::write(out.join("bundled.rs"), table)?;
    std::fs::write(out.join("sdk.rs"), list_sdk(&root.join("components/sdk"))?)?;
    Ok(())
}

/// The sources of the SDK and the contract, which `zipfs plugin new` hands to authors.
fn list_sdk(sdk: &Path) -> Result<String> {
    let mut waiting = vec![sdk.join("src"), sdk.join("wit")];
    let mut paths = Vec::new();
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() { waiting.push(path) } else { paths.push(path) }
        }
    }
    paths.sort();
    let mut rows = String::new();
    for path in paths {
        rows += &format!("    ({:?}, include_str!({path:?})),\n", path.strip_prefix(sdk)?);
    }
    Ok(format!("/// The files of the SDK, by their paths.\nstatic SDK: &[(&str, &str)] = &[\n{rows}];\n"))
}

fn packages() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMPONENTS.into_iter().chain([INTRUDER])
}

/// Cargo runs this script again when one of these changes, and only then.
fn watch(root: &Path) {
    let mut paths = vec!["wit", "Cargo.toml", "Cargo.lock", "components/sdk", "host/build.rs", "host/src/sandbox/engine_config.rs"]
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    paths.extend(packages().map(|(folder, _)| format!("components/{folder}")));
    for path in paths {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
}

/// Makes sure that the guests' target is installed, or says how to install it.
fn ensure_target() -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let is_there = || {
        let printed = Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
        printed.is_ok_and(|printed| {
            let path = String::from_utf8_lossy(&printed.stdout);
            printed.status.success() && std::fs::read_dir(path.trim()).is_ok_and(|mut entries| entries.next().is_some())
        })
    };
    if is_there() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if added.is_ok_and(|status| status.success()) && is_there() {
        return Ok(());
    }
    bail!(
        "the Rust target {TARGET} is not installed and could not be added; run this, then build again:\n\n    rustup target add {TARGET}\n"
    );
}

fn build_components(root: &Path, target_dir: &Path) -> Result<()> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .current_dir(root)
        .args(["build", "--locked", "--profile", "guest", "--target", TARGET])
        .arg("--target-dir")
        .arg(target_dir);
    for (_, package) in packages() {
        cargo.args(["--package", package]);
    }
    // The outer build's flags are for the host's processor and linker; its wrappers would lint guests that nobody asked about.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let leaks = text.starts_with("CARGO_BUILD_") || text.starts_with("CARGO_PROFILE_") || text.starts_with("CARGO_TARGET_");
        let fixed = [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "CLIPPY_ARGS",
            "RUSTC",
            "RUSTDOC",
            "TARGET",
            "HOST",
        ];
        if leaks || fixed.contains(&&*text) {
            cargo.env_remove(&name);
        }
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+simd128");
    let status = cargo.status().context("cargo cannot be run")?;
    ensure!(status.success(), "the bundled components do not build; the messages are above");
    Ok(())
}

/// Compiles one component, unless this very code was compiled before, and returns its row of the table.
fn embed(name: &str, folder: &Path, wasm: &Path, guests: &Path, engine: &wasmtime::Engine, out: &Path) -> Result<String> {
    let bytes = std::fs::read(wasm).with_context(|| format!("{} was not built", wasm.display()))?;
    let digest = hex(&Sha256::digest(&bytes));
    let mut key = Sha256::new();
    key.update(&bytes);
    key.update(std::fs::read("src/sandbox/engine_config.rs")?);
    key.update(std::fs::read("../Cargo.lock")?);
    key.update(variable("TARGET")?);
    let cache = guests.join("compiled");
    std::fs::create_dir_all(&cache)?;
    let cached = cache.join(format!("{}.cwasm", hex(&key.finalize())));
    let code = match std::fs::read(&cached) {
        Ok(code) => code,
        Err(_) => {
            let code = engine.precompile_component(&bytes).map_err(plain).with_context(|| format!("{name} does not compile"))?;
            let aside = cached.with_extension(std::process::id().to_string());
            std::fs::write(&aside, &code)?;
            std::fs::rename(&aside, &cached)?;
            code
        }
    };
    let (wasm_file, code_file) = (format!("{name}.wasm"), format!("{name}.cwasm"));
    std::fs::write(out.join(&wasm_file), &bytes)?;
    std::fs::write(out.join(&code_file), &code)?;
    let manifest = folder.join("plugin.toml");
    let manifest = if manifest.exists() { format!("include_str!({manifest:?})") } else { "\"\"".to_owned() };
    let length = code.len();
    Ok(format!(
        "    Bundled {{\n        name: {name:?},\n        digest: {digest:?},\n        manifest: {manifest},\n        \
         wasm: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{wasm_file}\")),\n        \
         code: {{\n            static CODE: Pages<[u8; {length}]> = Pages(*include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{code_file}\")));\n            \
         &CODE.0\n        }},\n    }},\n"
    ))
}

/// wasmtime has an error type of its own.
fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| format!("cargo did not set {name}"))
}
