//! A workspace with a plugin in front of it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::Value;
use tempfile::TempDir;

use super::Called;
use super::stage::{self, Answering, Stage};
use crate::client::Abilities;
use crate::tool::WorkspaceAccess;
use crate::{Error, Plugin, Questions, Reply, ResourceContents, Resources, Resumption, Tool, http, plugin};

/// A fresh workspace on which the tools of one plugin can be called. It goes away with the bench.
pub struct Bench {
    root: TempDir,
    tools: fn() -> Vec<Tool>,
    run: fn(&str, &str, Option<Resumption>) -> Result<Reply, Error>,
    abilities: Abilities,
    http: Option<Rc<Answering>>,
    secrets: Vec<(String, Vec<u8>)>,
}

impl Bench {
    /// A bench for a plugin, with an empty workspace.
    ///
    /// # Panics
    /// If there is no temporary directory, or if the plugin cannot be described: the host would refuse it too.
    pub fn of<P: Plugin>() -> Bench {
        plugin::describe::<P>();
        let root = TempDir::new().expect("a temporary directory");
        for room in ["workspace", "staging"] {
            std::fs::create_dir(root.path().join(room)).expect("room for the test");
        }
        let abilities = Abilities { elicitation: false, sampling: false, roots: false };
        Bench { root, tools: P::tools, run: plugin::run::<P>, abilities, http: None, secrets: Vec::new() }
    }

    /// The client can do this. Without it, it can do nothing.
    pub fn client(mut self, abilities: Abilities) -> Bench {
        self.abilities = abilities;
        self
    }

    /// Requests of tools that declare `http` are answered by this function. No test of it touches the network.
    pub fn http(mut self, answer: impl Fn(&http::Request) -> Result<http::Response, Error> + 'static) -> Bench {
        self.http = Some(Rc::new(answer));
        self
    }

    /// There is a secret of this name, for tools that declare `secret`.
    pub fn secret(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Bench {
        self.secrets.push((name.to_owned(), bytes.into()));
        self
    }

    /// Calls a tool, with the access it declared.
    ///
    /// # Panics
    /// If the plugin has no such tool.
    pub fn call(&self, tool: &str, arguments: Value) -> Called {
        self.enter(tool, &arguments, None)
    }

    /// Enters a tool again that asked for input: the same arguments, its questions, and the client's answers by name.
    ///
    /// # Panics
    /// If the plugin has no such tool.
    pub fn resume(&self, tool: &str, arguments: Value, questions: &Questions, answers: Vec<(String, Value)>) -> Called {
        self.enter(tool, &arguments, Some(Resumption::new(Some(questions), answers)))
    }

    /// Reads a resource of a plugin, with the workspace read-only.
    pub fn read<P: Resources>(&self, uri: &str) -> Result<Vec<ResourceContents>, Error> {
        let stage = Stage {
            mounted: Some(open_ambient(&self.host_path())),
            writable: false,
            staging: open_ambient(&self.root.path().join("staging")),
            capabilities: Vec::new(),
            abilities: self.abilities,
            http: self.http.clone(),
            secrets: self.secrets.clone(),
            part_worker: None,
            progress: Vec::new(),
            log: Vec::new(),
            changes: Vec::new(),
        };
        stage::play(stage, || P::read(uri)).0
    }

    /// Puts a file into the workspace, with the directories above it.
    ///
    /// # Panics
    /// If that cannot be done.
    pub fn put(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.host_path().join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories for the file");
        std::fs::write(path, contents).expect("a file for the test");
    }

    /// What a file in the workspace holds; `None` if there is none.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.host_path().join(path)).ok()
    }

    /// Where the workspace is, for what a test wants to do behind the tool's back: links, times, modes.
    pub fn host_path(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    fn enter(&self, name: &str, arguments: &Value, resumed: Option<Resumption>) -> Called {
        let tool = (self.tools)().into_iter().find(|tool| tool.name() == name);
        let tool = tool.unwrap_or_else(|| panic!("the plugin has no tool '{name}'"));
        let access = tool.workspace_access();
        let stage = Stage {
            mounted: (access != WorkspaceAccess::None).then(|| open_ambient(&self.host_path())),
            writable: access == WorkspaceAccess::Write,
            staging: open_ambient(&self.root.path().join("staging")),
            capabilities: tool.capabilities().to_vec(),
            abilities: self.abilities,
            http: self.http.clone(),
            secrets: self.secrets.clone(),
            part_worker: tool.part_worker(),
            progress: Vec::new(),
            log: Vec::new(),
            changes: Vec::new(),
        };
        let (result, stage) = stage::play(stage, || (self.run)(name, &arguments.to_string(), resumed));
        Called { result, progress: stage.progress, log: stage.log }
    }
}

fn open_ambient(path: &Path) -> Dir {
    Dir::open_ambient_dir(path, ambient_authority()).expect("the rooms of a bench exist")
}
