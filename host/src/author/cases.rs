//! Golden cases: a folder is a case.
//!
//! ```text
//! cases/<tool>/<case>/
//!   arguments.json   what the tool is called with
//!   before/          the workspace at the beginning; left out if there is nothing in it
//!   after/           the workspace at the end; left out if nothing changes
//!   expected.json    {"structured": …}, {"text": …} or {"error": {"code": …, "message": …}}
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::workbench::{Called, Workbench, failed};
use crate::failure::Failure;
use crate::gate::Outcome;
use crate::plugins::Tool;
use crate::sandbox::bindings::types::Content;

/// One folder.
pub struct Case {
    pub tool: String,
    pub name: String,
    pub folder: PathBuf,
}

/// How a case ended: nothing if it is as it was, else in what it differs.
pub struct Verdict {
    pub differences: Vec<String>,
    /// Whether what is expected was written anew.
    pub blessed: bool,
}

/// The files of a workspace.
type Files = BTreeMap<String, Vec<u8>>;

/// Finds the cases of a plugin, in the order of their names.
pub fn find(folder: &Path) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for tool in directories(folder) {
        for name in directories(&folder.join(&tool)) {
            let folder = folder.join(&tool).join(&name);
            if !folder.join("arguments.json").exists() {
                return Err(Failure::invalid(format!("{} has no arguments.json.", folder.display()))
                    .suggest("A case is a folder cases/<tool>/<case> with arguments.json in it."));
            }
            cases.push(Case { tool: tool.clone(), name, folder });
        }
    }
    Ok(cases)
}

fn directories(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

impl Case {
    /// Plays the case, and compares or, with `bless`, writes down what came of it.
    pub async fn play(&self, bench: &Workbench, bless: bool) -> Result<Verdict, Failure> {
        let tool = bench.tools().iter().find(|tool| tool.name == self.tool).ok_or_else(|| {
            let known: Vec<&str> = bench.tools().iter().map(|tool| tool.name.as_str()).collect();
            Failure::invalid(format!("{} is for a tool {:?}, which the plugin does not have.", self.folder.display(), self.tool))
                .suggest(format!("It has: {}.", known.join(", ")))
        })?;
        let before = self.folder.join("before");
        let (came, before, after) = self.run(bench, tool, &before).await?;
        let shown = shown(&came);
        if bless {
            return self.bless(&shown, &before, &after);
        }
        let mut differences = Vec::new();
        let expected = read_json(&self.folder.join("expected.json"))?;
        if expected != shown {
            differences.push(format!("expected {}\n      came {}", brief(&expected), brief(&shown)));
        }
        let wanted = if self.folder.join("after").is_dir() { read_files(&self.folder.join("after"))? } else { before };
        compare(&wanted, &after, &mut differences);
        Ok(Verdict { differences, blessed: false })
    }

    async fn run(&self, bench: &Workbench, tool: &Tool, before: &Path) -> Result<(Called, Files, Files), Failure> {
        let Value::Object(arguments) = read_json(&self.folder.join("arguments.json"))? else {
            return Err(Failure::invalid(format!("{} must hold a JSON object.", self.folder.join("arguments.json").display())));
        };
        let nothing = tempfile::tempdir().map_err(|error| failed(&error))?;
        let before = if before.is_dir() { before } else { nothing.path() };
        let session = bench.open(before).await?;
        let came = bench.call(tool, &arguments, &session).await;
        let after = read_files(&session.files)?;
        bench.close(session).await?;
        Ok((came, read_files(before)?, after))
    }

    fn bless(&self, shown: &Value, before: &Files, after: &Files) -> Result<Verdict, Failure> {
        std::fs::write(self.folder.join("expected.json"), format!("{shown:#}\n")).map_err(|error| failed(&error))?;
        let folder = self.folder.join("after");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| failed(&error))?;
        }
        if before != after {
            for (path, contents) in after {
                let path = folder.join(path);
                let parent = path.parent().unwrap_or(&folder);
                std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, contents)).map_err(|error| failed(&error))?;
            }
            // An empty workspace is something that came of it, too, and version control keeps no empty directories.
            if after.is_empty() {
                std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
                std::fs::write(folder.join(".gitkeep"), b"").map_err(|error| failed(&error))?;
            }
        }
        Ok(Verdict { differences: Vec::new(), blessed: true })
    }
}

/// What a call ended in, without what changes from run to run.
fn shown(came: &Called) -> Value {
    match came {
        Err(failure) => json!({"error": {"code": failure.code, "message": failure.message}}),
        Ok(Outcome { structured: Some(value), .. }) => json!({"structured": value}),
        Ok(outcome) => {
            let texts: Map<String, Value> =
                outcome.content.iter().enumerate().map(|(at, content)| (at.to_string(), said(content))).collect();
            match texts.len() {
                1 => json!({"text": texts["0"]}),
                _ => json!({"content": texts.into_values().collect::<Vec<_>>()}),
            }
        }
    }
}

fn said(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!(text),
        Content::Image(blob) | Content::Audio(blob) => json!({"mime_type": blob.mime_type, "bytes": blob.data.len()}),
        Content::Embedded(resource) => json!({"resource": resource.uri}),
        Content::Link(link) => json!({"link": link.uri}),
    }
}

fn compare(wanted: &Files, after: &Files, differences: &mut Vec<String>) {
    for (path, contents) in wanted {
        match after.get(path) {
            None => differences.push(format!("{path} is not there afterwards")),
            Some(came) if came != contents => {
                differences.push(format!("{path} holds {}\n      not {}", excerpt(came), excerpt(contents)));
            }
            Some(_) => {}
        }
    }
    differences.extend(after.keys().filter(|path| !wanted.contains_key(*path)).map(|path| format!("{path} is there afterwards")));
}

fn excerpt(contents: &[u8]) -> String {
    brief(&json!(String::from_utf8_lossy(contents)))
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn read_json(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read(path).map_err(|error| {
        Failure::invalid(format!("{} cannot be read: {error}.", path.display()))
            .suggest("Write it with: zipfs plugin test --update")
    })?;
    serde_json::from_slice(&text).map_err(|error| Failure::invalid(format!("{} is not JSON: {error}.", path.display())))
}

fn read_files(directory: &Path) -> Result<Files, Failure> {
    let mut files = Files::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(inner) = waiting.pop() {
        for entry in std::fs::read_dir(&inner).map_err(|error| failed(&error))?.flatten() {
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| failed(&error))?;
            let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
            if kind.is_dir() {
                waiting.push(path);
            } else if kind.is_file() && !name.ends_with(".gitkeep") {
                files.insert(name, std::fs::read(&path).map_err(|error| failed(&error))?);
            }
        }
    }
    Ok(files)
}
