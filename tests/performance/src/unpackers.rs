//! Who can turn an archive into files: zipfs, and the programs that people use for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::peers::{Absent, Field, Role};

pub struct Unpacker {
    pub name: String,
    pub role: Role,
    program: PathBuf,
}

/// Those that are on this machine, and who is not.
pub fn find(field: &Field) -> (Vec<Unpacker>, Vec<Absent>) {
    let mut unpackers = Vec::new();
    let mut absent = Vec::new();
    let others = [
        (Role::Unzip, "unzip", "install Info-ZIP's unzip"),
        (Role::Unpacker, "7z", "install 7-Zip"),
        (Role::Unpacker, "bsdtar", "install libarchive's tools"),
        (Role::Unpacker, "python3", "install Python"),
        (Role::Unpacker, "ripunzip", "run with --install, which builds it for some minutes"),
    ];
    unpackers.push(Unpacker { name: "zipfs".to_owned(), role: Role::Zipfs, program: field.program.clone() });
    for (role, name, advice) in others {
        match field.tool(name) {
            Some(program) => unpackers.push(Unpacker { name: name.to_owned(), role, program }),
            None => absent.push(Absent { peer: name.to_owned(), reason: format!("not found; {advice}") }),
        }
    }
    (unpackers, absent)
}

impl Unpacker {
    /// The command that extracts into `target`, which it makes.
    pub fn prepare(&self, archive: &Path, target: &Path) -> Result<Command> {
        std::fs::create_dir_all(target)?;
        let mut command = Command::new(&self.program);
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let joined = |head: &str, tail: &Path| {
            let mut word = OsString::from(head);
            word.push(tail);
            word
        };
        let arguments: Vec<OsString> = match self.name.as_str() {
            "zipfs" => {
                // A hundred thousand files are more than the default lets in together with their directories.
                std::fs::write(target.join("config.json"), r#"{"security": {"max_file_count": 200000}}"#)?;
                command.env("ZIPFS_DATA_DIR", target);
                [words(&["call", "zipfs_open", "--arg"]), vec![joined("path=", archive)]].concat()
            }
            "unzip" => [words(&["-q"]), vec![archive.into()], words(&["-d"]), vec![target.into()]].concat(),
            "bsdtar" => [words(&["-x", "-f"]), vec![archive.into()], words(&["-C"]), vec![target.into()]].concat(),
            "python3" => [words(&["-m", "zipfile", "-e"]), vec![archive.into(), target.into()]].concat(),
            "7z" => [words(&["x", "-bd", "-y"]), vec![joined("-o", target), archive.into()]].concat(),
            _ => [words(&["unzip-file"]), vec![archive.into()], words(&["-d"]), vec![target.into()]].concat(),
        };
        command.args(arguments);
        Ok(command)
    }

    /// Where the files are.
    pub fn extracted(&self, target: &Path, output: &Output) -> Result<PathBuf> {
        if self.role != Role::Zipfs {
            return Ok(target.to_owned());
        }
        let opened: serde_json::Value = serde_json::from_slice(&output.stdout).context("what zipfs printed is not JSON")?;
        Ok(opened["workspace_path"].as_str().context("zipfs named no workspace")?.into())
    }
}
