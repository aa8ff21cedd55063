//! A host for one plugin: a data directory that goes away, the plugin in it, and sessions made from plain directories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, DataDir, Settings};
use crate::failure::Failure;
use crate::gate::{Answer, Call, Gate, Outcome, Refusal};
use crate::plugins::admission::{Candidate, examine_ambient};
use crate::plugins::grants::{Given, words};
use crate::plugins::manifest::Manifest;
use crate::plugins::{Plugin, Tool, WorkspaceAccess};
use crate::sandbox::Shape;
use crate::sandbox::driver::Stage;
use crate::sandbox::witness::Witness;
use crate::workspace::listing::{Change, Kind};

pub struct Workbench {
    place: TempDir,
    pub gate: Arc<Gate>,
    pub plugin: Arc<Plugin>,
    pub witness: Arc<Witness>,
}

/// A session on the bench. The next one closes it.
pub struct Session {
    pub id: String,
    /// Where its files are.
    pub files: PathBuf,
}

/// What came of a call.
pub type Called = Result<Outcome, Failure>;

/// Time that a call gets here, where nobody waits for a network. A tool that needs longer on a handful of small files hangs.
const DEADLINE_MS: u64 = 10_000;

impl Workbench {
    /// Puts a plugin on a bench. `adjust` may take away what it asks for, or what its tools declare.
    pub async fn of(path: &Path, adjust: impl FnOnce(&mut Candidate)) -> Result<Workbench, Failure> {
        let place = tempfile::Builder::new().prefix("zipfs-author-").tempdir().map_err(|error| failed(&error))?;
        let data = place.path().join("data");
        std::fs::create_dir(&data).map_err(|error| failed(&error))?;
        let mut settings = Settings::default();
        // What a tool answers must be what it promised, also where serving does not look.
        settings.calls.validate_results = true;
        // What is packed here is the author's own.
        settings.security.ratio_min_bytes = u64::MAX;
        settings.calls.deadline_ms = settings.calls.deadline_ms.min(DEADLINE_MS);
        let gate = Gate::open(Config::with(DataDir::at(&data), settings), Shape::Server).await?;
        let mut candidate = examine_ambient(path, &gate.sandbox, &gate.cache).await?;
        adjust(&mut candidate);
        let given = everything_harmless(&candidate.manifest)?;
        let name = candidate.admit(&gate.desk(), given, None)?.name;
        gate.refresh().await;
        let registry = gate.registry();
        let plugin = registry.plugins.iter().find(|plugin| plugin.description.name == name).cloned();
        let plugin = plugin.ok_or_else(|| Failure::internal("The plugin is not on the bench."))?;
        let witness = gate.witness.get_or_init(Arc::default).clone();
        Ok(Workbench { place, gate, plugin, witness })
    }

    pub fn tools(&self) -> &[Tool] {
        &self.plugin.description.tools
    }

    /// Opens a session on copies of the files of a directory.
    pub async fn open(&self, files: &Path) -> Result<Session, Failure> {
        let changes = additions(files)?;
        let name = uuid::Uuid::new_v4().simple();
        let archive = self.place.path().join(format!("{name}.zip"));
        let contents = cap_std::fs::Dir::open_ambient_dir(files, cap_std::ambient_authority()).map_err(|error| failed(&error))?;
        let made = |path: &Path| {
            std::fs::File::options().read(true).write(true).create_new(true).open(path).map_err(|error| failed(&error))
        };
        let scratch = made(&self.place.path().join(format!("{name}.scratch")))?;
        let (driver, cancel) = (self.gate.driver()?, CancellationToken::new());
        let ready = driver.prepare(&changes, &[], &contents, scratch.into(), &cancel, |_| ()).await?;
        let stage = Stage { file: made(&archive)?.into(), block_size: 0, underway: None };
        driver.pack(None, ready, stage, &self.gate.config.settings.security, &cancel).await?;
        let opened = self.run("zipfs_open", json!({"path": archive})).await?.structured.unwrap_or_default();
        let text = |name: &str| opened[name].as_str().unwrap_or_default().to_owned();
        Ok(Session { id: text("session_id"), files: text("workspace_path").into() })
    }

    pub async fn close(&self, session: Session) -> Result<(), Failure> {
        self.run("zipfs_close", json!({"session": session.id, "sync": false})).await.map(drop)
    }

    /// Calls a tool of the plugin, on a session if it works on one.
    pub async fn call(&self, tool: &Tool, arguments: &Map<String, Value>, session: &Session) -> Called {
        let mut arguments = arguments.clone();
        if tool.access.workspace != WorkspaceAccess::None {
            arguments.insert("session".into(), json!(session.id));
        }
        self.run(&tool.name, Value::Object(arguments)).await
    }

    async fn run(&self, tool: &str, arguments: Value) -> Called {
        let Value::Object(arguments) = arguments else { return Err(Failure::internal("Arguments are an object.")) };
        match self.gate.call(Call::local(tool, arguments)).await.map_err(Refusal::into_failure)? {
            Answer::Complete(outcome) => Ok(outcome),
            Answer::InputRequired(_) => {
                Err(Failure::new(crate::failure::Class::Invalid, "INPUT_REQUIRED", "The tool asks the client for input."))
            }
        }
    }
}

/// What a plugin asks for and can be given without anybody's word: it reaches no further than the bench. The network, directories,
/// values and secrets are somebody's; without them tools answer what they answer users who did not grant them.
fn everything_harmless(manifest: &Manifest) -> Result<Vec<Given>, Failure> {
    let mut kinds: Vec<&str> = manifest.capabilities.keys().map(|capability| capability.name()).collect();
    kinds.extend(manifest.limits.is_some().then_some("limits"));
    let mut given = Vec::new();
    for kind in kinds {
        given.extend(words::parse(kind, manifest)?);
    }
    Ok(given)
}

/// What has to be put into an archive for it to hold what the directory holds. Links and other oddities are left out.
fn additions(directory: &Path) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(directory.join(&inner)).map_err(|error| failed(&error))?.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = inner.join(entry.file_name());
            let Some(text) = path.to_str() else {
                return Err(Failure::invalid(format!("The name of {} is not text.", entry.path().display())));
            };
            let kind = entry.file_type().map_err(|error| failed(&error))?;
            // A directory that has to be there although it is empty is kept by a file that git keeps.
            if text.ends_with(".gitkeep") {
                continue;
            }
            let kind = match (kind.is_dir(), kind.is_file()) {
                (true, _) => Kind::Directory,
                (_, true) => Kind::File,
                _ => continue,
            };
            let mode = if kind == Kind::Directory { 0o755 } else { 0o644 };
            let size = entry.metadata().map_err(|error| failed(&error))?.len();
            changes.push(Change::Add { path: text.to_owned(), kind, size, modified: 1_767_225_600, mode });
            if kind == Kind::Directory {
                waiting.push(path);
            }
        }
    }
    Ok(changes)
}

pub(super) fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::internal(format!("The workbench cannot be used: {error}."))
}
