//! The label of a plugin: what it is, what it asks for, and what it cannot do, all taken from its bytes and its manifest.

use serde_json::Value;

use crate::cli::columns;
use crate::cli::output::shown;
use crate::plugins::WorkspaceAccess;
use crate::plugins::description::{Description, Tool};
use crate::plugins::manifest::Manifest;
use crate::plugins::signature::Standing;

/// What is known of a plugin, whether it is there or about to be.
pub struct Label<'a> {
    pub manifest: &'a Manifest,
    pub description: &'a Description,
    pub imports: &'a [String],
    pub digest: &'a str,
    pub signed: &'a Standing,
    pub source: &'a str,
}

impl Label<'_> {
    pub fn text(&self) -> String {
        let mut text = format!("{} {}", shown(&self.description.name), shown(&self.description.version));
        if !self.manifest.description.is_empty() {
            text += &format!(": {}", shown(&self.manifest.description));
        }
        text += &format!("\n  from {}\n  sha256:{}\n  {}\n", shown(self.source), self.digest, signed(self.signed));
        text += "  tools\n";
        text +=
            &indented(&columns::align(self.description.tools.iter().map(|tool| [shown(&tool.name).into_owned(), access(tool)])));
        text += "  asks for\n";
        let asks = self.asks();
        match asks.is_empty() {
            true => text += "    nothing beyond the session's workspace\n",
            false => text += &indented(&asks.join("\n")),
        }
        text + "  cannot\n" + &indented(&self.cannot().join("\n"))
    }

    pub fn asks(&self) -> Vec<String> {
        let why = |why: &str| if why.is_empty() { "no reason given".to_owned() } else { shown(why).into_owned() };
        let optional = |is_optional| if is_optional { " (works without)" } else { "" };
        let asks = self.manifest.asks().into_iter();
        asks.map(|ask| format!("{}{}: {}", shown(&ask.what), optional(ask.optional), why(&ask.why))).collect()
    }

    /// Each with the reason why it is so.
    pub fn cannot(&self) -> Vec<String> {
        let imports = |prefix: &str| self.imports.iter().any(|name| name.starts_with(prefix));
        let tables = serde_json::to_value(self.manifest).unwrap_or_default();
        let asks = |table: &str| match &tables[table] {
            Value::Array(entries) => !entries.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => false,
        };
        let mut cannot = Vec::new();
        if !imports("wasi:http/") {
            cannot.push("use the network: does not import wasi:http".to_owned());
        } else if !asks("http") {
            cannot.push("use the network: asks for no host".to_owned());
        }
        let touches_files = self.manifest.workspace.access != WorkspaceAccess::None;
        let (directory, root) = (asks("directory"), asks("root"));
        if !imports("wasi:filesystem/") {
            cannot.push("open files: does not import wasi:filesystem".to_owned());
        } else if !touches_files && !directory && !root {
            cannot.push("open files: asks for no workspace and no directory".to_owned());
        } else {
            if self.manifest.workspace.access == WorkspaceAccess::Read {
                cannot.push("change the workspace: asks to read it only".to_owned());
            }
            if !directory && !root {
                cannot.push("open files outside of the workspace: asks for no directory".to_owned());
            }
        }
        if !imports("zipfs:plugin/sessions") {
            cannot.push("open, sync or close sessions: does not import zipfs:plugin/sessions".to_owned());
        }
        if !imports("zipfs:plugin/endpoints") {
            cannot.push("talk to services of this machine: does not import zipfs:plugin/endpoints".to_owned());
        }
        if !imports("wasi:cli/environment") {
            cannot.push("read variables: does not import wasi:cli/environment".to_owned());
        } else if !asks("environment") {
            cannot.push("read variables: asks for none, and gets an empty list".to_owned());
        }
        if !asks("secret") {
            cannot.push("use secrets: asks for none".to_owned());
        }
        cannot.push(format!("start programs or open sockets: none of its {} imports can", self.imports.len()));
        cannot
    }
}

pub fn signed(standing: &Standing) -> String {
    match standing {
        Standing::Unsigned => "not signed".to_owned(),
        Standing::Unknown { key } => format!("signed by {key}, which is not among plugins.trusted_keys: not checked"),
        Standing::Trusted { key } => format!("signed by {key}, which is trusted"),
    }
}

/// What a tool does, as far as it is enforced.
fn access(tool: &Tool) -> String {
    let mut words = match tool.access.workspace {
        WorkspaceAccess::None => "no workspace",
        WorkspaceAccess::Read => "reads the workspace",
        WorkspaceAccess::Write => "changes the workspace",
    }
    .to_owned();
    for capability in &tool.access.capabilities {
        words += &format!(", uses {}", capability.name());
    }
    words
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
