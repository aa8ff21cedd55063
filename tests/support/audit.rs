//! The audit log of a data directory, as anybody can read it: files with one JSON object a line.

use std::path::{Path, PathBuf};

use serde_json::Value;

pub struct Audited(PathBuf);

impl Audited {
    pub fn of(data: &Path) -> Audited {
        Audited::at(&data.join("audit"))
    }

    pub fn at(directory: &Path) -> Audited {
        Audited(directory.to_owned())
    }

    /// Its files, oldest first.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&self.0).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        files
    }

    pub fn lines(&self) -> Vec<Value> {
        let text: String = self.files().iter().map(|path| std::fs::read_to_string(path).expect("the log can be read")).collect();
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }

    /// Calls of tools only, with their outcomes.
    pub fn calls(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let calls = self.lines().into_iter().filter(|line| line["kind"] == "call");
        calls.map(|line| (text(&line["tool_name"]), text(&line["outcome"]))).collect()
    }

    /// Every byte that is kept, whatever file it is in.
    pub fn bytes(&self) -> Vec<u8> {
        let entries = std::fs::read_dir(&self.0).expect("the directory of the log");
        entries.flatten().flat_map(|entry| std::fs::read(entry.path()).expect("a file")).collect()
    }
}
