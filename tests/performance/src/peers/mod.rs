//! Who is measured: zipfs, and what it is compared with. A peer that cannot be had is named with the reason, never guessed.

mod echo;
mod native;
pub mod rust_filesystem;
mod typescript;
mod zipfs;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;
use serde::Serialize;

use crate::archives::Set;
use crate::fixture::Fixture;
use crate::opened::Opened;
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
    /// What has to be done in any case: two pipes and no server; or an archive copied, hashed and flushed, and nothing else.
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
    /// A call of a tool of zipfs, where its command is what is compared.
    ZipfsCall,
    /// ripgrep on one thread.
    RipgrepOneThread,
    /// Another program that searches.
    Searcher,
    /// Another host of WebAssembly, or another server for files.
    OtherServer,
    /// zipfs with nothing installed.
    Bare,
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
            Self::ZipfsCall => "zipfs-call",
            Self::RipgrepOneThread => "rg-j1",
            Self::Searcher => "searcher",
            Self::OtherServer => "other-server",
            Self::Bare => "bare",
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
    /// Where the programs of this crate are.
    pub programs: PathBuf,
    /// Where large archives are kept from run to run.
    pub bench: PathBuf,
    /// Where they are unpacked, on the same disk. Gone at the end.
    pub scratch: tempfile::TempDir,
    /// The program that calls tools in its own process, or why there is none.
    pub inside: Result<PathBuf, String>,
    /// `target/release`, where the programs of this crate are.
    places: Places,
    numbers: Cell<u32>,
    searched: RefCell<Vec<(Set, Rc<Opened>)>>,
    /// The component that plugins are made from.
    pub faces: Option<PathBuf>,
}

/// Hosts of WebAssembly that run tools as we do, and could not be run beside us so far. Nothing is known of how they compare.
const OUT_OF_REACH: [(&str, &str); 3] = [
    ("ACT", "its host is on a registry, the interface that its components are built against is not"),
    (
        "hyper-mcp",
        "its build is that of a runtime and a cloud library, and its plugins are for a target that this project does not use",
    ),
    ("Wassette", "it is on no package registry"),
];

/// The zipfs that is measured.
pub struct Subject<'a> {
    pub program: PathBuf,
    /// A component with a tool `noop` that returns at once.
    pub noop_plugin: Option<&'a Path>,
    /// A component whose names can be exchanged in its bytes.
    pub faces: Option<&'a Path>,
}

impl Field {
    pub fn gather(fixture: &Fixture, places: &Places, subject: &Subject) -> Result<Self> {
        let mut field = Self {
            peers: Vec::new(),
            absent: Vec::new(),
            program: subject.program.clone(),
            programs: places.programs.clone(),
            bench: places.bench.clone(),
            scratch: tempfile::Builder::new().prefix("unpacked-").tempdir_in(&places.bench)?,
            inside: places.build_inside().map_err(|error| format!("{error:#}")),
            places: places.clone(),
            numbers: Cell::new(0),
            searched: RefCell::default(),
            faces: subject.faces.map(Path::to_owned),
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
        field.admit("rust-mcp-filesystem", rust_filesystem::find(fixture, places));
        for (peer, reason) in OUT_OF_REACH {
            field.absent.push(Absent { peer: peer.to_owned(), reason: reason.to_owned() });
        }
        Ok(field)
    }

    /// A program that was installed for comparison.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        self.places.tool(name)
    }

    /// A program of this crate.
    pub fn sibling(&self, name: &str) -> Result<PathBuf> {
        self.places.sibling(name)
    }

    /// The set, opened when it is first asked for: several measurements search the same one.
    pub fn opened_for_searching(&self, set: Set, open: impl FnOnce() -> Result<Opened>) -> Result<Rc<Opened>> {
        if let Some((_, opened)) = self.searched.borrow().iter().find(|(known, _)| *known == set) {
            return Ok(opened.clone());
        }
        let opened = Rc::new(open()?);
        self.searched.borrow_mut().push((set, opened.clone()));
        Ok(opened)
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
