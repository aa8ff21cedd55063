//! A transcript: a text of comments (`#`), events outside (`@`), calls (`>`) and, below each call, the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::world::World;

pub struct Transcript {
    path: PathBuf,
    steps: Vec<Step>,
}

enum Step {
    /// A comment or an empty line, kept as it is.
    Text(String),
    /// Something that happens outside: an archive is made, a file changed by somebody else.
    Event(String),
    Call {
        line: String,
        answer: String,
    },
}

impl Transcript {
    pub fn read(path: &Path) -> Transcript {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut steps = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            steps.push(if let Some(event) = line.strip_prefix("@ ") {
                Step::Event(event.to_owned())
            } else if let Some(call) = line.strip_prefix("> ") {
                let mut answer = Vec::new();
                while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                    answer.push(line);
                }
                Step::Call { line: call.to_owned(), answer: answer.join("\n") }
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "{}: what is {line:?}?", path.display());
                Step::Text(line.to_owned())
            });
        }
        Transcript { path: path.to_owned(), steps }
    }

    /// Plays it and compares every answer, or writes the answers down if that was asked for.
    #[track_caller]
    pub fn play(mut self) {
        let bless = std::env::var_os("UPDATE").is_some();
        let mut world = World::default();
        let mut schemas = BTreeMap::new();
        for step in &mut self.steps {
            match step {
                Step::Text(_) => {}
                Step::Event(event) => world.happen(event),
                Step::Call { line, answer } => {
                    let (tool, arguments) = line.split_once(' ').expect("a tool and its arguments");
                    let arguments: Value = serde_json::from_str(&world.put_back(arguments)).expect("arguments in JSON");
                    let result = world.server().request("tools/call", json!({"name": tool, "arguments": arguments}));
                    let schema = schemas.entry(tool.to_owned()).or_insert_with(|| output_schema(&world, tool));
                    let now = world.neutral(&rendered(result, schema));
                    if bless {
                        *answer = now;
                    } else {
                        assert_eq!(now, *answer, "\n{}: {line}\n(UPDATE=1 writes the answers anew)", self.path.display());
                    }
                }
            }
        }
        if bless {
            std::fs::write(&self.path, self.text()).expect("the transcript can be written");
        }
    }

    /// The codes of the errors of a tool in it, and `ok` if it also succeeds.
    pub fn outcomes_of(&self, tool: &str) -> BTreeSet<String> {
        let mut outcomes = BTreeSet::new();
        for step in &self.steps {
            if let Step::Call { line, answer } = step
                && line.starts_with(&format!("{tool} "))
            {
                let (how, what) = answer.split_once(' ').expect("an answer");
                let what: Value = serde_json::from_str(what).expect("JSON");
                outcomes.insert(if how == "ok" { how.to_owned() } else { what["error"]["code"].as_str().unwrap().to_owned() });
            }
        }
        outcomes
    }

    fn text(&self) -> String {
        let line = |step: &Step| match step {
            Step::Text(text) => format!("{text}\n"),
            Step::Event(event) => format!("@ {event}\n"),
            Step::Call { line, answer } => format!("> {line}\n{answer}\n"),
        };
        self.steps.iter().map(line).collect()
    }
}

fn output_schema(world: &World, tool: &str) -> jsonschema::Validator {
    let tools = world.server().request("tools/list", json!({}))["result"]["tools"].clone();
    let listed = tools.as_array().unwrap().iter().find(|listed| listed["name"] == tool).expect("the tool is listed");
    assert!(listed["outputSchema"].is_object(), "{tool} has no output schema");
    jsonschema::validator_for(&listed["outputSchema"]).expect("a schema")
}

/// The whole answer as text. What holds for every answer is checked here: its parts, its text, its schema, the form of errors.
#[track_caller]
fn rendered(answer: Value, schema: &jsonschema::Validator) -> String {
    let result = &answer["result"];
    let keys: BTreeSet<&str> =
        result.as_object().unwrap_or_else(|| panic!("no result: {answer}")).keys().map(String::as_str).collect();
    assert!(keys.is_subset(&["content", "isError", "structuredContent"].into()), "{keys:?}");
    let structured = &result["structuredContent"];
    let [text] = &result["content"].as_array().unwrap()[..] else { panic!("not one block: {result}") };
    assert_eq!((text["type"].as_str(), text.as_object().unwrap().len()), (Some("text"), 2), "{text}");
    assert_eq!(serde_json::from_str::<Value>(text["text"].as_str().unwrap()).ok().as_ref(), Some(structured), "text and structure");
    let pretty = serde_json::to_string_pretty(&without_disk_sizes(structured)).unwrap();
    if result["isError"] == true {
        let error = structured["error"].as_object().unwrap_or_else(|| panic!("not an error: {structured}"));
        assert!(structured.as_object().unwrap().len() == 1 && error["code"].is_string() && error["message"].is_string());
        return format!("error {pretty}");
    }
    if let Err(error) = schema.validate(structured) {
        panic!("the answer does not fit the output schema: {error} in {structured}");
    }
    format!("ok {pretty}")
}

/// How many blocks a directory takes is the filesystem's affair.
fn without_disk_sizes(structured: &Value) -> Value {
    let mut neutral = structured.clone();
    if let Some(freed) = neutral.get_mut("freed_bytes").filter(|freed| **freed != json!(0)) {
        *freed = json!("<bytes>");
    }
    neutral
}
