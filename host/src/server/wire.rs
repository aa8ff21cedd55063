//! Between the host's words and those of the protocol.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, Icon, MetaObject, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role, Tool, ToolAnnotations,
};

use crate::config::ToolNames;
use crate::failure::{Failure, Shape};
use crate::gate::{Outcome, shown_schema};
use crate::plugins::{Found, description};
use crate::sandbox::bindings::prompts::exports::zipfs::plugin::prompts as said_prompts;
use crate::sandbox::bindings::resources::exports::zipfs::plugin::resources as said_resources;
use crate::sandbox::bindings::types;

/// A tool as it is listed. All four hints are sent, and follow from what is enforced.
pub fn tool(portable: &str, found: &Found, names: ToolNames, is_bound: bool) -> Tool {
    let described = found.tool();
    let access = &described.access;
    let name = match names {
        ToolNames::Portable => portable.to_owned(),
        ToolNames::Verbatim => described.name.clone(),
    };
    let read_only = access.is_read_only();
    let hints = ToolAnnotations::new()
        .read_only(read_only)
        .destructive(access.may_destroy())
        .idempotent(read_only || access.idempotent)
        .open_world(access.open_world);
    let mut tool =
        Tool::new(name, described.description.clone(), Arc::new(shown_schema(described, is_bound))).with_annotations(hints);
    if let Some(title) = &described.title {
        tool = tool.with_title(title.clone());
    }
    if let Some(schema) = &described.output_schema {
        tool = tool.with_raw_output_schema(Arc::new(schema.clone()));
    }
    if !described.icons.is_empty() {
        tool = tool.with_icons(described.icons.iter().map(icon).collect());
    }
    if let Some(meta) = &described.meta {
        tool = tool.with_meta(MetaObject(meta.clone()));
    }
    tool
}

/// A finished call. A structured result is mirrored as text: some clients show the model only one of the two.
pub fn outcome(mut outcome: Outcome) -> CallToolResult {
    let mut content: Vec<ContentBlock> = std::mem::take(&mut outcome.content).into_iter().map(block).collect();
    if content.is_empty()
        && let Some(json) = outcome.take_json()
    {
        content.push(ContentBlock::text(json));
    }
    content.extend(outcome.notice.map(|notice| ContentBlock::text(format!("Note: {notice}"))));
    let mut result = CallToolResult::success(content);
    result.structured_content = outcome.structured;
    result
}

/// A failed call: always marked as an error, with the plugin's own form of it as text and structured.
pub fn failure(failure: &Failure, shape: Shape) -> CallToolResult {
    CallToolResult::structured_error(failure.render(shape))
}

pub fn block(content: types::Content) -> ContentBlock {
    match content {
        types::Content::Text(text) => ContentBlock::text(text),
        types::Content::Image(blob) => ContentBlock::image(STANDARD.encode(blob.data), blob.mime_type),
        types::Content::Audio(blob) => ContentBlock::audio(STANDARD.encode(blob.data), blob.mime_type),
        types::Content::Embedded(contents) => ContentBlock::resource(resource_contents(contents)),
        types::Content::Link(link) => {
            let mut resource = Resource::new(link.uri, link.name);
            resource.title = link.title;
            resource.description = link.description;
            resource.mime_type = link.mime_type;
            resource.size = link.size;
            ContentBlock::resource_link(resource)
        }
    }
}

pub fn resource_contents(contents: types::ResourceContents) -> ResourceContents {
    let made = match contents.body {
        types::ResourceBody::Text(text) => ResourceContents::text(text, contents.uri),
        types::ResourceBody::Bytes(bytes) => ResourceContents::blob(STANDARD.encode(bytes), contents.uri),
    };
    match contents.mime_type {
        Some(mime_type) => made.with_mime_type(mime_type),
        None => made,
    }
}

pub fn resource(entry: said_resources::ResourceEntry) -> Resource {
    let mut resource = Resource::new(entry.uri, entry.name);
    resource.title = entry.title;
    resource.description = entry.description;
    resource.mime_type = entry.mime_type;
    resource.size = entry.size;
    resource.icons = icons(entry.icons);
    resource
}

pub fn resource_template(template: said_resources::ResourceTemplate) -> ResourceTemplate {
    let mut made = ResourceTemplate::new(template.uri_template, template.name);
    made.title = template.title;
    made.description = template.description;
    made.mime_type = template.mime_type;
    made.icons = icons(template.icons);
    made
}

pub fn prompt(prompt: said_prompts::Prompt) -> Prompt {
    let arguments: Vec<PromptArgument> = prompt
        .arguments
        .into_iter()
        .map(|argument| {
            let mut made = PromptArgument::new(argument.name).with_required(argument.required);
            made.title = argument.title;
            made.description = argument.description;
            made
        })
        .collect();
    let mut made = Prompt::new(prompt.name, prompt.description, Some(arguments));
    made.title = prompt.title;
    made.icons = icons(prompt.icons);
    made
}

pub fn filled_prompt(prompt: said_prompts::FilledPrompt) -> GetPromptResult {
    let messages = prompt
        .messages
        .into_iter()
        .map(|message| {
            let role = match message.speaker {
                said_prompts::Speaker::User => Role::User,
                said_prompts::Speaker::Assistant => Role::Assistant,
            };
            PromptMessage::new(role, block(message.content))
        })
        .collect();
    let mut result = GetPromptResult::new(messages);
    result.description = prompt.description;
    result
}

fn icons(icons: Vec<types::Icon>) -> Option<Vec<Icon>> {
    let made = |said: types::Icon| icon(&description::Icon { src: said.src, mime_type: said.mime_type, sizes: said.sizes });
    (!icons.is_empty()).then(|| icons.into_iter().map(made).collect())
}

fn icon(said: &description::Icon) -> Icon {
    let mut icon = Icon::new(said.src.clone());
    if let Some(mime_type) = &said.mime_type {
        icon = icon.with_mime_type(mime_type.clone());
    }
    if !said.sizes.is_empty() {
        icon = icon.with_sizes(said.sizes.clone());
    }
    icon
}
