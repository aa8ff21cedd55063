//! One prompt with two blanks, and proposals for one of them.

use zipfs_sdk::completions::{Completions, Proposals, Target};
use zipfs_sdk::prompts::{FilledPrompt, Message, Prompt, PromptArgument, PromptReply, Prompts, Speaker};
use zipfs_sdk::{Content, Error, Resumption};

const TONES: [&str; 3] = ["formal", "friendly", "funny"];

impl Prompts for super::Showcase {
    fn list() -> Result<Vec<Prompt>, Error> {
        let blank = |name: &str, description: &str, required| PromptArgument {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required,
        };
        Ok(vec![Prompt {
            name: "greet".into(),
            title: Some("Greet somebody".into()),
            description: Some("Asks for a greeting.".into()),
            arguments: vec![blank("name", "Whom to greet.", true), blank("tone", "How it should sound.", false)],
            icons: Vec::new(),
        }])
    }

    fn get(name: &str, arguments: &[(String, String)], _: Option<Resumption>) -> Result<PromptReply, Error> {
        if name != "greet" {
            return Err(Error::not_found("PROMPT_NOT_FOUND", format!("There is no prompt '{name}'.")));
        }
        let filled_in = |blank: &str| arguments.iter().find(|(name, _)| name == blank).map(|(_, value)| value.as_str());
        let whom = filled_in("name").ok_or_else(|| Error::invalid("INVALID_PARAMS", "The argument 'name' is missing."))?;
        let text = format!("Write a {} greeting for {whom}.", filled_in("tone").unwrap_or("short"));
        let message = |speaker, text: String| Message { speaker, content: Content::Text(text) };
        let messages = vec![message(Speaker::User, text), message(Speaker::Assistant, format!("Dear {whom},"))];
        Ok(FilledPrompt { description: Some(format!("A greeting for {whom}.")), messages }.into())
    }
}

impl Completions for super::Showcase {
    fn complete(target: &Target, name: &str, value: &str, _: &[(String, String)]) -> Result<Proposals, Error> {
        let is_tone = matches!(target, Target::Prompt(prompt) if prompt == "greet") && name == "tone";
        let fitting = TONES.iter().filter(|tone| is_tone && tone.starts_with(value));
        let values: Vec<String> = fitting.map(|tone| tone.to_string()).collect();
        Ok(Proposals { total: Some(values.len() as u32), values, has_more: false })
    }
}
