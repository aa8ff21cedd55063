//! Prompts with every kind of block, one that asks first, and proposals for an argument.

use zipfs_sdk::completions::{Completions, Proposals, Target};
use zipfs_sdk::prompts::{FilledPrompt, Message, Prompt, PromptArgument, PromptReply, Prompts, Speaker};
use zipfs_sdk::{Blob, Content, Error, Questions, Resumption};

use crate::answers::field;
use crate::content::{PIXEL, resource};
use crate::forms::Context;

impl Prompts for super::Conformance {
    fn list() -> Result<Vec<Prompt>, Error> {
        let prompt = |name: &str, description: &str, arguments: &[&str]| Prompt {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            arguments: arguments.iter().map(|name| required(name)).collect(),
            icons: Vec::new(),
        };
        Ok(vec![
            prompt("test_simple_prompt", "A prompt without arguments.", &[]),
            prompt("test_prompt_with_arguments", "A prompt with two arguments.", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", "A prompt with a resource in it.", &["resourceUri"]),
            prompt("test_prompt_with_image", "A prompt with a picture.", &[]),
            prompt("test_input_required_result_prompt", "A prompt that asks first.", &[]),
        ])
    }

    fn get(name: &str, arguments: &[(String, String)], resumed: Option<Resumption>) -> Result<PromptReply, Error> {
        let given = |wanted: &str| arguments.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value.as_str());
        let messages = match name {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                vec![text(&format!("Prompt with arguments: arg1='{}', arg2='{}'", given("arg1"), given("arg2")))]
            }
            "test_prompt_with_embedded_resource" => {
                let embedded = resource(given("resourceUri"), "text/plain", "Embedded resource content for testing.");
                vec![user(Content::Embedded(embedded)), text("Please process the embedded resource above.")]
            }
            "test_prompt_with_image" => {
                let image = Content::Image(Blob { data: PIXEL.to_vec(), mime_type: "image/png".into() });
                vec![user(image), text("Please analyze the image above.")]
            }
            "test_input_required_result_prompt" => match field(resumed.as_ref(), "user_context", "context") {
                Some(context) => vec![text(&format!("Use this context: {context}"))],
                None => {
                    let ask = Questions::new().elicit::<Context>("user_context", "What context should the prompt use?");
                    return Ok(ask.into());
                }
            },
            _ => return Err(Error::not_found("PROMPT_NOT_FOUND", format!("There is no prompt '{name}'."))),
        };
        Ok(FilledPrompt { description: None, messages }.into())
    }
}

impl Completions for super::Conformance {
    fn complete(target: &Target, name: &str, value: &str, _: &[(String, String)]) -> Result<Proposals, Error> {
        let known = matches!(target, Target::Prompt(prompt) if prompt == "test_prompt_with_arguments") && name == "arg1";
        let values: Vec<String> =
            ["paris", "park", "party"].into_iter().filter(|word| known && word.starts_with(value)).map(str::to_owned).collect();
        Ok(Proposals { total: Some(values.len() as u32), values, has_more: false })
    }
}

fn required(name: &str) -> PromptArgument {
    PromptArgument { name: name.into(), title: None, description: Some(format!("The argument {name}.")), required: true }
}

fn text(text: &str) -> Message {
    user(Content::Text(text.into()))
}

fn user(content: Content) -> Message {
    Message { speaker: Speaker::User, content }
}
