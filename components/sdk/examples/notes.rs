//! A plugin with everything optional in it: two tools, a resource, a prompt and a completion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use zipfs_sdk::completions::{Completions, Proposals, Target};
use zipfs_sdk::path::WorkspacePath;
use zipfs_sdk::prompts::{FilledPrompt, Message, Prompt, PromptArgument, PromptReply, Prompts, Speaker};
use zipfs_sdk::resources::{ResourceEntry, Resources};
use zipfs_sdk::{
    About, Content, Elicited, Error, Outcome, Plugin, Questions, Reply, ResourceBody, ResourceContents, Resumption, Tool, client,
    files, fs,
};

struct Notes;

impl Plugin for Notes {
    fn about() -> About {
        About::new("notes", env!("CARGO_PKG_VERSION")).title("Notes")
    }

    fn tools() -> Vec<Tool> {
        vec![
            Tool::new("notes_add", "Adds a note in a file of its own. Returns its name.", add)
                .title("Add")
                .writes()
                .destructive(false)
                .uses("files"),
            Tool::new("notes_clear", "Removes all notes, after asking the person.", clear).title("Clear").writes(),
        ]
    }
}

zipfs_sdk::export!(Notes with resources, prompts, completions);

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The note's name, without an extension.
    name: String,
    /// What it says.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Added {
    file: String,
}

fn add(note: Add) -> Result<Added, Error> {
    let path = WorkspacePath::parse(&format!("{}.note", note.name))?;
    let file = files::replace(&path)?;
    file.write(note.text.as_bytes())?;
    file.commit()?;
    Ok(Added { file: path.to_string() })
}

#[derive(Deserialize, JsonSchema)]
struct Clear {}

#[derive(Deserialize, JsonSchema)]
struct Confirmation {
    /// Whether to go on.
    sure: bool,
}

fn clear(_: Clear, resumed: Option<Resumption>) -> Result<Reply, Error> {
    let Some(resumed) = resumed else {
        if !client::abilities().elicitation {
            return Err(Error::forbidden("NOT_CONFIRMED", "This client cannot ask the person."));
        }
        return Ok(Questions::new().elicit::<Confirmation>("sure", "Remove all notes?").into());
    };
    if resumed
        .elicited::<Confirmation>("sure")?
        .is_none_or(|answer| !matches!(answer, Elicited::Accepted(Confirmation { sure: true })))
    {
        return Ok(Outcome::new().text("Nothing was removed.").into());
    }
    let workspace = fs::workspace()?;
    let names = names(&workspace)?;
    for name in &names {
        workspace.remove_file(name).map_err(|error| error.at(name))?;
    }
    Ok(Outcome::new().text(format!("{} notes removed.", names.len())).into())
}

fn names(workspace: &fs::Dir) -> Result<Vec<String>, Error> {
    let entries = workspace.read_dir()?.into_iter();
    Ok(entries.filter(|entry| entry.kind == fs::Kind::File && entry.name.ends_with(".note")).map(|entry| entry.name).collect())
}

impl Resources for Notes {
    fn list() -> Result<Vec<ResourceEntry>, Error> {
        let entry = |name: String| ResourceEntry {
            uri: format!("note:{name}"),
            name,
            title: None,
            description: None,
            mime_type: Some("text/plain".into()),
            size: None,
            icons: Vec::new(),
        };
        Ok(names(&fs::workspace()?)?.into_iter().map(entry).collect())
    }

    fn read(uri: &str) -> Result<Vec<ResourceContents>, Error> {
        let name = uri.strip_prefix("note:").ok_or_else(|| Error::not_found("NOTE_NOT_FOUND", format!("'{uri}' is no note.")))?;
        let path = WorkspacePath::parse(name)?;
        let file = fs::workspace()?.open_file(path.as_str()).map_err(|error| error.at(&path))?;
        let bytes = file.read_at(0, usize::MAX).map_err(|error| error.at(&path))?;
        Ok(vec![ResourceContents { uri: uri.into(), mime_type: Some("text/plain".into()), body: ResourceBody::Bytes(bytes) }])
    }
}

impl Prompts for Notes {
    fn list() -> Result<Vec<Prompt>, Error> {
        let topic = PromptArgument { name: "topic".into(), title: None, description: None, required: true };
        Ok(vec![Prompt { name: "note-it".into(), title: None, description: None, arguments: vec![topic], icons: Vec::new() }])
    }

    fn get(_: &str, arguments: &[(String, String)], _: Option<Resumption>) -> Result<PromptReply, Error> {
        let topic = arguments.iter().find(|(name, _)| name == "topic").map_or("this", |(_, topic)| topic);
        let content = Content::Text(format!("Write a note about {topic}."));
        Ok(FilledPrompt { description: None, messages: vec![Message { speaker: Speaker::User, content }] }.into())
    }
}

impl Completions for Notes {
    fn complete(_: &Target, _: &str, value: &str, _: &[(String, String)]) -> Result<Proposals, Error> {
        let topics = ["groceries", "meeting", "travel"];
        let values = topics.iter().filter(|topic| topic.starts_with(value)).map(|topic| topic.to_string()).collect();
        Ok(Proposals { values, total: None, has_more: false })
    }
}
