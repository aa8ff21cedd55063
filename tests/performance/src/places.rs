//! Where things are: the programs beside this one, and the directory for what a run installs and writes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// What `--install` compiles. Pinned, so that two runs on different days compare with the same peers.
const TOOLS: [(&str, &str); 2] = [("ripunzip", "2.0.3"), ("rust-mcp-filesystem", crate::peers::rust_filesystem::VERSION)];

#[derive(Clone)]
pub struct Places {
    /// `target/release`: this program, its siblings and zipfs.
    pub programs: PathBuf,
    /// `target/bench`: npm packages and results.
    pub bench: PathBuf,
}

impl Places {
    pub fn find() -> Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let programs = program.parent().context("this program is in no directory")?.to_owned();
        let bench = programs.parent().unwrap_or(&programs).join("bench");
        std::fs::create_dir_all(&bench).with_context(|| format!("create {}", bench.display()))?;
        Ok(Self { programs, bench })
    }

    /// Builds the peers of this crate. `cargo run` builds only the program it runs, and a peer of yesterday would be measured.
    pub fn build_siblings(&self) -> Result<()> {
        let Some(cargo) = std::env::var_os("CARGO") else {
            return Ok(());
        };
        let status = Command::new(cargo)
            .args(["build", "--release", "--quiet", "-p", env!("CARGO_PKG_NAME"), "--bins"])
            .status()
            .context("run cargo")?;
        if !status.success() {
            bail!("the peers of this crate do not build");
        }
        Ok(())
    }

    /// Builds `inside.rs`, which is an example of the host's crate, so that cargo makes no second host for it; and says where it is.
    pub fn build_inside(&self) -> Result<PathBuf> {
        let cargo = std::env::var_os("CARGO").context("it is built with cargo: use `cargo run`")?;
        let words = ["build", "--release", "--quiet", "-p", "zipfs", "--example", "inside", "--message-format=json"];
        let output = Command::new(cargo).args(words).output().context("run cargo")?;
        if !output.status.success() {
            bail!("it does not build");
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let programs = built.filter(|message| message["target"]["name"] == "inside");
        let program = programs.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?))).next_back();
        program.context("cargo does not say where it is")
    }

    /// Installs the peers that have to be compiled, as whoever has the least hurry on this machine.
    pub fn install_tools(&self) -> Result<()> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        for (name, version) in TOOLS {
            let mut command = Command::new("nice");
            command.args(["-n", "19"]).arg(&cargo).args(["install", name, "--version", version, "--locked", "--root"]);
            command.arg(self.bench.join("tools")).arg("--target-dir").arg(self.bench.join("cargo"));
            // A peer that does not build is missed by whoever looks for it, with a reason.
            let status = command.status().context("run nice")?;
            if !status.success() {
                eprintln!("{name} {version} does not build here");
            }
        }
        Ok(())
    }

    /// A program that was installed for comparison, here or for everybody.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let here = self.bench.join("tools/bin");
        std::env::split_paths(&path).chain([here]).map(|directory| directory.join(name)).find(|program| program.is_file())
    }

    /// A program of this crate.
    pub fn sibling(&self, name: &str) -> Result<PathBuf> {
        let path = self.programs.join(name);
        if !path.is_file() {
            bail!("{} does not exist; build it with `cargo build --release -p {}`", path.display(), env!("CARGO_PKG_NAME"));
        }
        Ok(path)
    }
}
