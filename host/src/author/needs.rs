//! What a plugin reaches for when it is given nothing, and the smallest manifest that would do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};

use super::cases::Case;
use super::examples::Schema;
use super::hostile::odd_files;
use super::workbench::Workbench;
use crate::failure::Failure;
use crate::plugins::manifest::Manifest;
use crate::plugins::{Tool, WorkspaceAccess};
use crate::sandbox::witness::Reach;

/// What was asked for, and what was reached for, tool by tool.
pub struct Needs {
    pub name: String,
    pub version: String,
    pub description: String,
    pub asked: WorkspaceAccess,
    pub tools: BTreeMap<String, Need>,
    /// How many calls this is drawn from. What they did not try is not known.
    pub calls: usize,
}

#[derive(Default)]
pub struct Need {
    pub declared: WorkspaceAccess,
    pub workspace: WorkspaceAccess,
    pub others: BTreeSet<Reach>,
}

/// Calls the tools with nothing granted: a workspace to look at and not to change, and no capability. They may fail; what they
/// tried on the way is what counts.
pub async fn find_out(path: &Path, cases: &[Case]) -> Result<Needs, Failure> {
    let mut declared = BTreeMap::new();
    let mut asked = WorkspaceAccess::None;
    let bench = Workbench::of(path, |candidate| {
        asked = candidate.manifest.workspace.access;
        let (name, version) = (candidate.manifest.name.clone(), candidate.manifest.version.clone());
        let mut nothing = Manifest::plain(name, version);
        nothing.description = candidate.manifest.description.clone();
        nothing.workspace.access = WorkspaceAccess::Read;
        candidate.manifest = nothing;
        for tool in &mut candidate.description.tools {
            declared.insert(tool.name.clone(), tool.access.workspace);
            // Every tool is given a look, also one that says it needs none.
            tool.access.workspace = WorkspaceAccess::Read;
            tool.access.capabilities.clear();
        }
    })
    .await?;
    let sample = odd_files()?;
    let manifest = &bench.plugin.manifest;
    let mut needs = Needs {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        asked,
        tools: BTreeMap::new(),
        calls: 0,
    };
    for tool in bench.tools() {
        let mut need = Need { declared: declared.get(&tool.name).copied().unwrap_or_default(), ..Need::default() };
        let own: Vec<&Case> = cases.iter().filter(|case| case.tool == tool.name).collect();
        for (files, arguments) in trials(tool, &own, sample.path()) {
            let session = bench.open(&files).await?;
            bench.witness.take();
            let _ = bench.call(tool, &arguments, &session).await;
            note(&mut need, bench.witness.take());
            bench.close(session).await?;
            needs.calls += 1;
        }
        needs.tools.insert(tool.name.clone(), need);
    }
    Ok(needs)
}

/// The tool's own cases, and what its schema allows.
fn trials(tool: &Tool, cases: &[&Case], sample: &Path) -> Vec<(std::path::PathBuf, Map<String, Value>)> {
    let own = cases.iter().filter_map(|case| {
        let text = std::fs::read(case.folder.join("arguments.json")).ok()?;
        let before = case.folder.join("before");
        let files = if before.is_dir() { before } else { sample.to_owned() };
        Some((files, serde_json::from_slice(&text).ok()?))
    });
    let root = Value::Object(tool.input_schema.clone());
    let made = Schema::new(&root).arguments().into_iter().map(|arguments| (sample.to_owned(), arguments));
    own.chain(made).collect()
}

fn note(need: &mut Need, reached: BTreeSet<Reach>) {
    for reach in reached {
        match reach {
            Reach::Read => need.workspace = need.workspace.max(WorkspaceAccess::Read),
            Reach::Write => need.workspace = WorkspaceAccess::Write,
            other => {
                need.others.insert(other);
            }
        }
    }
}

impl Needs {
    /// The most that any tool reached for.
    pub fn workspace(&self) -> WorkspaceAccess {
        self.tools.values().map(|need| need.workspace).max().unwrap_or_default()
    }

    fn others(&self) -> BTreeSet<&Reach> {
        self.tools.values().flat_map(|need| &need.others).collect()
    }

    /// `plugin.toml` with what was reached for and nothing else.
    pub fn manifest(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!(
            "name = {}\nversion = {}\ndescription = {}\n\n[workspace]\naccess = \"{}\"\nwhy = \"\"\n",
            quoted(&self.name),
            quoted(&self.version),
            quoted(&self.description),
            word(self.workspace()),
        );
        let others = self.others();
        let plain: Vec<&str> =
            others.iter().filter_map(|reach| if let Reach::Capability(name) = reach { Some(*name) } else { None }).collect();
        if !plain.is_empty() {
            text += "\n[capabilities]\n";
            text.extend(plain.iter().map(|name| format!("{name} = \"\"\n")));
        }
        for reach in others {
            if let Reach::Named(kind, name) = reach {
                text += &entry(kind, name);
            }
        }
        text
    }
}

fn entry(kind: &str, name: &str) -> String {
    let quoted = toml::Value::String(name.to_owned());
    match name.rsplit_once(':').filter(|(_, port)| kind == "http" && port.parse::<u16>().is_ok()) {
        Some((host, port)) => {
            format!("\n[[http]]\nhost = {}\nport = {port}\nwhy = \"\"\n", toml::Value::String(host.to_owned()))
        }
        None if kind == "http" => format!("\n[[http]]\nhost = {quoted}\nwhy = \"\"\n"),
        None => format!("\n[[{kind}]]\nname = {quoted}\nwhy = \"\"\n"),
    }
}

/// As it is written in a manifest.
pub fn word(access: WorkspaceAccess) -> &'static str {
    match access {
        WorkspaceAccess::None => "none",
        WorkspaceAccess::Read => "read",
        WorkspaceAccess::Write => "write",
    }
}
