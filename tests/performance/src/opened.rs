//! An archive that zipfs has open, in a data directory of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::peers::Field;
use crate::pipe::Launch;
use crate::timed;

/// What the configuration allows beyond its defaults: large sets, and many of them.
const CONFIGURATION: &str =
    r#"{"security": {"max_file_count": 200000, "max_sessions": 2000, "max_total_disk_bytes": 1099511627776}}"#;

pub struct Opened {
    program: PathBuf,
    data: PathBuf,
    /// Where the files are.
    pub contents: PathBuf,
}

/// The name that the archive is open under.
pub const NAME: &str = "bench";

impl Opened {
    /// A data directory in which nothing is open. It is named after what it is for, and goes with the run.
    pub fn nothing(field: &Field, purpose: &str) -> Result<Self> {
        let data = field.scratch.path().join(format!("{purpose}-{}", field.next_number()));
        std::fs::create_dir_all(&data)?;
        // Others must not be able to enter it, or zipfs refuses it.
        std::fs::set_permissions(&data, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        std::fs::write(data.join("config.json"), CONFIGURATION)?;
        let contents = data.join("workspaces").join(NAME).join("contents");
        Ok(Self { program: field.program.clone(), data, contents })
    }

    /// With `archive` open, looked through once, and on the disk.
    pub fn with(field: &Field, purpose: &str, archive: &Path) -> Result<Self> {
        let opened = Self::nothing(field, purpose)?;
        timed::run(opened.command(["open"]).arg(archive).args(["--name", NAME]))?;
        // Files of this very moment would be looked into by every status, because their times prove nothing yet.
        std::thread::sleep(std::time::Duration::from_millis(100));
        timed::run(&mut opened.command(["status", NAME]))?;
        timed::run(&mut Command::new("sync"))?;
        Ok(opened)
    }

    /// A command of zipfs on it.
    pub fn command<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env("ZIPFS_DATA_DIR", &self.data);
        command
    }

    /// A server on it.
    pub fn server(&self) -> Launch {
        Launch::of_zipfs(&self.program, &self.data)
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Takes everything away.
    pub fn remove(self) -> Result<()> {
        std::fs::remove_dir_all(&self.data).with_context(|| format!("remove {}", self.data.display()))
    }
}
