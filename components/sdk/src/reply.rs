//! What a call ends in, where a plain typed result is not enough: content blocks, or questions to the client.

use serde::Serialize;

use crate::bindings::plugin::exports::zipfs::plugin::tools as contract;
use crate::plugin::to_json;
use crate::{Error, Questions};

pub use crate::bindings::plugin::zipfs::plugin::types::{Blob, Content, Icon, ResourceBody, ResourceContents, ResourceLink};

/// A finished answer, or questions that must be answered first.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The tool is done.
    Complete(Outcome),
    /// It cannot go on without the client, and is called again with the answers.
    InputRequired(Questions),
}

/// A finished answer of a tool: blocks to show, and a structured result.
///
/// ```
/// use zipfs_sdk::Outcome;
///
/// let outcome = Outcome::new().text("One picture:").image(vec![0x89, b'P', b'N', b'G'], "image/png");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    content: Vec<Content>,
    structured: Option<String>,
}

impl Outcome {
    /// Nothing yet.
    pub fn new() -> Outcome {
        Outcome::default()
    }

    /// Adds text.
    pub fn text(self, text: impl Into<String>) -> Outcome {
        self.block(Content::Text(text.into()))
    }

    /// Adds a picture.
    pub fn image(self, data: Vec<u8>, mime_type: impl Into<String>) -> Outcome {
        self.block(Content::Image(Blob { data, mime_type: mime_type.into() }))
    }

    /// Adds sound.
    pub fn audio(self, data: Vec<u8>, mime_type: impl Into<String>) -> Outcome {
        self.block(Content::Audio(Blob { data, mime_type: mime_type.into() }))
    }

    /// Adds a resource, carried in the answer.
    pub fn embedded(self, resource: ResourceContents) -> Outcome {
        self.block(Content::Embedded(resource))
    }

    /// Adds a pointer to a resource that the client may read later.
    pub fn link(self, link: ResourceLink) -> Outcome {
        self.block(Content::Link(link))
    }

    /// Adds any block.
    pub fn block(mut self, content: Content) -> Outcome {
        self.content.push(content);
        self
    }

    /// Sets the structured result, whose JSON must be an object. Declare its schema with [`Tool::returns`](crate::Tool::returns).
    pub fn structured(mut self, value: &impl Serialize) -> Result<Outcome, Error> {
        self.structured = Some(to_json(value)?);
        Ok(self)
    }

    /// The blocks.
    pub fn content(&self) -> &[Content] {
        &self.content
    }

    /// The structured result, as JSON text.
    pub fn structured_json(&self) -> Option<&str> {
        self.structured.as_deref()
    }

    pub(crate) fn from_json(json: String) -> Outcome {
        Outcome { content: Vec::new(), structured: Some(json) }
    }
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Reply {
        Reply::Complete(outcome)
    }
}

impl From<Questions> for Reply {
    fn from(questions: Questions) -> Reply {
        Reply::InputRequired(questions)
    }
}

impl From<Reply> for contract::Reply {
    fn from(reply: Reply) -> contract::Reply {
        match reply {
            Reply::Complete(outcome) => {
                contract::Reply::Complete(contract::Outcome { content: outcome.content, structured: outcome.structured })
            }
            Reply::InputRequired(questions) => contract::Reply::InputRequired(questions.into()),
        }
    }
}
