//! Who can put one changed file back into an archive: zipfs, as a command and as a tool that is called, and the programs that people
//! use for it. One only copies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::archives::Set;
use crate::peers::{Absent, Field, Role};
use crate::pipe::{Launch, Pipe};
use crate::wire::Request;

/// An archive of its own for each, unpacked once, with one file that is changed again and again.
pub struct Packer {
    pub name: &'static str,
    pub role: Role,
    archive: PathBuf,
    /// Where the files are, or for zipfs its data directory.
    place: PathBuf,
    /// The changed file, below the root of the archive.
    file: String,
    program: PathBuf,
    /// Where the tool is called.
    server: Option<Pipe>,
}

/// Those that are on this machine, each with its copy of `archive`, and who is not.
pub fn find(field: &Field, set: Set, archive: &Path, directory: &Path) -> Result<(Vec<Packer>, Vec<Absent>)> {
    let (mut packers, mut absent) = (Vec::new(), Vec::new());
    let candidates = [
        (Role::Zipfs, "zipfs sync", field.program.clone()),
        (Role::ZipfsCall, "zipfs_sync over stdio", field.program.clone()),
        (Role::ZipUpdate, "zip -u", PathBuf::from("zip")),
        (Role::SevenZipUpdate, "7z u", PathBuf::from("7z")),
        (Role::Recompress, "zip, everything", PathBuf::from("zip")),
        (Role::Floor, "copy, flush", field.programs.join("copy-flush")),
    ];
    for (role, name, program) in candidates {
        let is_zipfs = matches!(role, Role::Zipfs | Role::ZipfsCall);
        if !is_zipfs && Command::new(&program).arg("-h").output().is_err() {
            absent.push(Absent { peer: name.to_owned(), reason: format!("{} is not on this machine", program.display()) });
            continue;
        }
        // Compressing 500 MB of noise again says nothing about anybody.
        if role == Role::Recompress && set == Set::Mixed {
            continue;
        }
        let place = directory.join(role.directory());
        std::fs::create_dir_all(&place)?;
        let copy = directory.join(format!("{}.zip", role.directory()));
        std::fs::copy(archive, &copy)?;
        let mut packer = Packer { name, role, archive: copy, place, file: String::new(), program, server: None };
        packer.unpack()?;
        packer.file = packer.smallest_of_the_middle()?;
        if role == Role::ZipfsCall {
            packer.server = Some(Pipe::connect(&Launch::of_zipfs(&packer.program, &packer.place))?);
        }
        packers.push(packer);
    }
    Ok((packers, absent))
}

impl Packer {
    fn unpack(&self) -> Result<()> {
        let mut command = match self.is_zipfs() {
            true => self.zipfs(&["open"]),
            false => Command::new("unzip"),
        };
        match self.is_zipfs() {
            true => command.arg(&self.archive).args(["--name", "bench"]),
            false => command.arg("-q").arg(&self.archive).arg("-d").arg(&self.place),
        };
        run(&mut command)
    }

    fn zipfs(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).env("ZIPFS_DATA_DIR", &self.place);
        command
    }

    fn is_zipfs(&self) -> bool {
        matches!(self.role, Role::Zipfs | Role::ZipfsCall)
    }

    fn root(&self) -> PathBuf {
        match self.is_zipfs() {
            true => self.place.join("workspaces/bench/contents"),
            false => self.place.clone(),
        }
    }

    /// The entry that is changed: small, and neither the first nor the last of the archive.
    fn smallest_of_the_middle(&self) -> Result<String> {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(&self.archive)?)?;
        let middle = zip.len() / 2;
        let near = middle..(middle + 50).min(zip.len());
        let mut sizes = near.map(|index| Ok((zip.by_index_raw(index)?.size(), index))).collect::<Result<Vec<_>>>()?;
        sizes.sort_unstable();
        let index = sizes.first().context("an empty archive")?.1;
        let name = zip.by_index_raw(index)?.name()?.into_owned();
        Ok(name)
    }

    /// Writes new contents. Programs that look at times see seconds, so each round is a second of its own.
    pub fn change(&self, round: usize) -> Result<()> {
        let path = self.root().join(&self.file);
        std::fs::write(&path, format!("The text of round {round}.\n").repeat(20))?;
        if self.is_zipfs() {
            return Ok(());
        }
        let file = std::fs::File::options().write(true).open(&path)?;
        let ahead = std::time::Duration::from_secs(10 + 2 * round as u64);
        Ok(file.set_modified(std::time::SystemTime::now() + ahead)?)
    }

    /// Puts the change into the archive. How long it took.
    pub fn pack(&mut self) -> Result<Duration> {
        if let Some(server) = &mut self.server {
            return server.ask(&Request::call("zipfs_sync", &json!({})).proven_by("files_modified"));
        }
        let mut command = self.command();
        let start = Instant::now();
        run(&mut command)?;
        Ok(start.elapsed())
    }

    /// The command that does so.
    fn command(&self) -> Command {
        let mut command = match self.role {
            Role::Zipfs => self.zipfs(&["sync", "bench", "--quiet"]),
            _ => Command::new(&self.program),
        };
        command.current_dir(self.root());
        match self.role {
            Role::Zipfs => &mut command,
            Role::ZipUpdate => command.args(["-q", "-u"]).arg(&self.archive).arg(&self.file),
            Role::SevenZipUpdate => command.args(["u", "-bd", "-y"]).arg(&self.archive).arg(&self.file),
            Role::Floor => command.arg(&self.archive).arg(self.archive.with_extension("anew.zip")),
            _ => command.args(["-q", "-r"]).arg(self.archive.with_extension("anew.zip")).arg("."),
        };
        command
    }

    /// Whether the archive now has what was changed; and whoever writes a new one each time starts from nothing again.
    pub fn check(&self, round: usize) -> Result<()> {
        if self.role == Role::Floor {
            return Ok(std::fs::remove_file(self.archive.with_extension("anew.zip"))?);
        }
        let written = match self.role {
            Role::Recompress => self.archive.with_extension("anew.zip"),
            _ => self.archive.clone(),
        };
        let mut zip = zip::ZipArchive::new(std::fs::File::open(&written)?)?;
        let text = std::io::read_to_string(zip.by_name(&self.file)?)?;
        if self.role == Role::Recompress {
            std::fs::remove_file(&written)?;
        }
        if text.starts_with(&format!("The text of round {round}.")) {
            Ok(())
        } else {
            bail!("{} did not take the change", self.name)
        }
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim())
}
