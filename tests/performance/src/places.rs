//! Where things are: the programs beside this one, and the directory for what a run installs and writes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

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
            .args(["build", "--release", "--quiet", "-p", env!("CARGO_PKG_NAME"), "--bin", "native-server", "--bin", "pipe-echo"])
            .status()
            .context("run cargo")?;
        if !status.success() {
            bail!("the peers of this crate do not build");
        }
        Ok(())
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
