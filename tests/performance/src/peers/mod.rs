//! Who is measured: zipfs, and what it is compared with. A peer that cannot be had is named with the reason, never guessed.

mod echo;
mod native;
mod typescript;
mod zipfs;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::fixture::Fixture;
use crate::pipe::Launch;
use crate::places::Places;
use crate::wire::Request;

/// What a peer is in a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Zipfs,
    /// The same protocol library without a sandbox.
    Native,
    /// The reference server for files, in TypeScript.
    TypeScript,
    /// A program that lists archives without opening a session.
    Lister,
    /// Two pipes and no server.
    Floor,
    /// Info-ZIP's, where archives are unpacked.
    Unzip,
    /// Another program that unpacks archives.
    Unpacker,
    /// Info-ZIP's, told which file of an archive changed.
    ZipUpdate,
    /// 7-Zip, told the same.
    SevenZipUpdate,
    /// Everything compressed anew, as programs do that do not know what changed.
    Recompress,
}

impl Role {
    /// A word for it that can be a directory's name.
    pub fn directory(self) -> &'static str {
        match self {
            Self::Zipfs => "zipfs",
            Self::Native => "native",
            Self::TypeScript => "typescript",
            Self::Lister => "lister",
            Self::Floor => "floor",
            Self::Unzip => "unzip",
            Self::Unpacker => "unpacker",
            Self::ZipUpdate => "zip-u",
            Self::SevenZipUpdate => "7z-u",
            Self::Recompress => "recompress",
        }
    }
}

/// A server that can be started, and what to ask it. Where it has no such tool the reason stands in its place.
pub struct Peer {
    pub role: Role,
    pub name: String,
    pub launch: Launch,
    pub noop: Result<Request, String>,
    pub read: Result<Request, String>,
}

/// Somebody who is not in the figures, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Absent {
    pub peer: String,
    pub reason: String,
}

/// Everybody.
pub struct Field {
    pub peers: Vec<Peer>,
    pub absent: Vec<Absent>,
    /// The zipfs that is measured, as a command.
    pub program: PathBuf,
    /// Where large archives are kept from run to run.
    pub bench: PathBuf,
    /// Where they are unpacked, on the same disk. Gone at the end.
    pub scratch: tempfile::TempDir,
    numbers: Cell<u32>,
}

/// The zipfs that is measured.
pub struct Subject<'a> {
    pub program: PathBuf,
    /// A component with a tool `noop` that returns at once.
    pub noop_plugin: Option<&'a Path>,
}

impl Field {
    pub fn gather(fixture: &Fixture, places: &Places, subject: &Subject) -> Result<Self> {
        let mut field = Self {
            peers: Vec::new(),
            absent: Vec::new(),
            program: subject.program.clone(),
            bench: places.bench.clone(),
            scratch: tempfile::Builder::new().prefix("unpacked-").tempdir_in(&places.bench)?,
            numbers: Cell::new(0),
        };
        field.admit("pipe echo", echo::find(fixture, places));
        field.admit("native rmcp", native::find(fixture, places));
        field.admit("zipfs", zipfs::find(fixture, subject));
        let installed = typescript::install(places).map_err(|error| format!("{error:#}"));
        for runtime in [typescript::Runtime::Installed, typescript::Runtime::Node22] {
            let peer = match &installed {
                Ok(server) => typescript::find(fixture, places, server, runtime),
                Err(reason) => Err(anyhow::anyhow!("{reason}")),
            };
            field.admit(runtime.label(), peer);
        }
        Ok(field)
    }

    /// A number that was not given before.
    pub fn next_number(&self) -> u32 {
        self.numbers.replace(self.numbers.get() + 1)
    }

    fn admit(&mut self, name: &str, peer: Result<Peer>) {
        match peer {
            Ok(peer) => self.peers.push(peer),
            Err(error) => self.absent.push(Absent { peer: name.to_owned(), reason: format!("{error:#}") }),
        }
    }
}
