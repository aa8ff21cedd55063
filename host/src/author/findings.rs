//! What an agent, a user or a reviewer would stumble over, before they do.

use serde_json::Value;
use wasmparser::{Parser, Payload};

use super::examples::Schema;
use super::needs::word;
use crate::plugins::manifest::Manifest;
use crate::plugins::{Description, Tool, WorkspaceAccess};

/// One thing to put right.
pub struct Finding {
    pub severity: Severity,
    /// What it is about: the plugin, a tool, or one of its arguments.
    pub about: String,
    pub what: String,
    /// What to do.
    pub advice: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It works, and could be better.
    Advice,
    /// Agents or users will go wrong over it.
    Problem,
}

/// A model reads all descriptions each time it chooses; a sentence or two choose better than a page.
const GOOD_DESCRIPTION: std::ops::RangeInclusive<usize> = 20..=1_000;
/// What all tools of a plugin together may take of a model's attention, in bytes of names, texts and schemas: some 4,000 tokens.
const GOOD_LISTING: usize = 16 << 10;
/// Compiling takes a second for each megabyte, once. Runtimes of dynamic languages have ten to twenty.
const GOOD_SIZE: usize = 4 << 20;
/// Several clients put the name of the server in front, and cut at 64.
const GOOD_NAME: usize = 40;

/// Looks at everything that can be seen without running the plugin.
pub fn find(description: &Description, manifest: Option<&Manifest>, wasm: &[u8]) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    findings.component(wasm);
    match manifest {
        Some(manifest) => findings.manifest(manifest, description),
        None => {
            findings.add(Severity::Advice, "plugin", "it has no plugin.toml", "Add one: it says what the plugin asks for, and why")
        }
    }
    if description.tools.is_empty() && !description.has_resources && !description.has_prompts {
        findings.add(Severity::Problem, "plugin", "it offers nothing", "Give it a tool");
    }
    for tool in &description.tools {
        findings.tool(tool);
    }
    let listing: usize = description.tools.iter().map(weight).sum();
    if listing > GOOD_LISTING {
        let what = format!("its tools take {listing} bytes of every conversation");
        findings.add(Severity::Advice, "plugin", &what, &format!("Stay below {GOOD_LISTING}: shorter texts, fewer tools"));
    }
    findings.0.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings.0
}

fn weight(tool: &Tool) -> usize {
    let schema = |schema: &serde_json::Map<String, Value>| serde_json::to_string(schema).map_or(0, |text| text.len());
    tool.name.len() + tool.description.len() + schema(&tool.input_schema) + tool.output_schema.as_ref().map_or(0, schema)
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, severity: Severity, about: &str, what: &str, advice: &str) {
        self.0.push(Finding { severity, about: about.to_owned(), what: what.to_owned(), advice: advice.to_owned() });
    }

    fn component(&mut self, wasm: &[u8]) {
        if wasm.len() > GOOD_SIZE {
            let what = format!("the component has {:.1} MB", wasm.len() as f64 / 1e6);
            self.add(Severity::Advice, "plugin", &what, "Adding it takes a second for each; build with optimisation and strip it");
        }
        let is_debug = |payload: Result<Payload<'_>, _>| matches!(payload, Ok(Payload::CustomSection(section)) if section.name().starts_with(".debug_"));
        if Parser::new(0).parse_all(wasm).any(is_debug) {
            self.add(
                Severity::Problem,
                "plugin",
                "the component carries debug information",
                "Build for release, with strip = true",
            );
        }
    }

    fn manifest(&mut self, manifest: &Manifest, description: &Description) {
        if manifest.description.trim().is_empty() {
            self.add(Severity::Problem, "plugin.toml", "it has no description", "Say in a sentence what the plugin is for");
        }
        if manifest.version != description.version {
            let what = format!("it says version {}, the component says {}", manifest.version, description.version);
            self.add(Severity::Problem, "plugin.toml", &what, "Let both say the same");
        }
        let most = description.tools.iter().map(|tool| tool.access.workspace).max().unwrap_or(WorkspaceAccess::None);
        if manifest.workspace.access > most {
            let what = format!(
                "it asks for access = \"{}\", and no tool declares more than \"{}\"",
                word(manifest.workspace.access),
                word(most)
            );
            self.add(Severity::Problem, "plugin.toml", &what, "Ask for what is needed");
        }
        if manifest.workspace.access != WorkspaceAccess::None && manifest.workspace.why.trim().is_empty() {
            self.add(
                Severity::Problem,
                "plugin.toml",
                "it does not say why it works on the workspace",
                "Fill in [workspace] why: users read it before they agree",
            );
        }
        for (capability, why) in &manifest.capabilities {
            if why.trim().is_empty() {
                let what = format!("it asks for `{}` and does not say why", capability.name());
                self.add(Severity::Problem, "plugin.toml", &what, "Users read the reason before they agree");
            }
            if !description.tools.iter().any(|tool| tool.access.capabilities.contains(capability)) {
                let what = format!("it asks for `{}`, and no tool declares that", capability.name());
                self.add(Severity::Problem, "plugin.toml", &what, "Declare it in the tools that use it, or do not ask");
            }
        }
    }

    fn tool(&mut self, tool: &Tool) {
        let name = tool.name.as_str();
        if tool.portable_name() != tool.name {
            self.add(Severity::Advice, name, "several clients refuse names with dots", "Agents are shown it with `_`");
        }
        if name.len() > GOOD_NAME {
            self.add(Severity::Advice, name, "the name is long", "Some clients put the server's name in front and cut at 64");
        }
        let text = tool.description.trim();
        if text.starts_with("Calls `") {
            self.add(
                Severity::Problem,
                name,
                "it has no description but its types",
                "Describe it in plugin.toml: [function.NAME] description = \"…\"",
            );
        } else if !GOOD_DESCRIPTION.contains(&text.len()) {
            let what = format!("the description has {} bytes", text.len());
            self.add(
                Severity::Problem,
                name,
                &what,
                "Say in one to three sentences what it does, when to use it and what it returns",
            );
        } else if !says_what_returns(text) {
            self.add(Severity::Problem, name, "the description does not say what comes back", "End it with: Returns {…}.");
        }
        if tool.output_schema.is_none() {
            self.add(
                Severity::Advice,
                name,
                "it has no output schema",
                "Return a structured result, so that programs can use it as well",
            );
        }
        let root = Value::Object(tool.input_schema.clone());
        for (argument, schema) in Schema::new(&root).properties() {
            self.argument(name, argument, schema);
        }
    }

    fn argument(&mut self, tool: &str, argument: &str, schema: Schema<'_>) {
        let about = format!("{tool}.{argument}");
        let described = schema.at.get("description").and_then(Value::as_str).is_some_and(|text| text.trim().len() > 3);
        if !described {
            self.add(Severity::Problem, &about, "the argument has no description", "Say what it means, its unit and its default");
        }
        let is_open = ["type", "enum", "const", "anyOf", "oneOf", "allOf"].iter().all(|word| schema.at.get(*word).is_none());
        if is_open {
            self.add(Severity::Problem, &about, "the argument can be anything", "Give it a type");
        }
        let sounds_like_path = ["path", "file", "filename", "directory", "dir", "folder"].contains(&argument)
            || argument.ends_with("_path")
            || argument.ends_with("_file");
        if sounds_like_path && schema.kind() == Some("string") && !schema.is_path() {
            self.add(
                Severity::Advice,
                &about,
                "it sounds like a path and is not marked as one",
                "Mark it with \"x-zipfs-path\": true (PathArgument in the SDK)",
            );
        }
    }
}

fn says_what_returns(text: &str) -> bool {
    let text = text.to_lowercase();
    ["return", "result", "gives", "answers", "→", "yields", "lists", "shows"].iter().any(|word| text.contains(word))
}
