//! Prompts: texts that a person picks in their client. Exported by `export!(… with prompts)`.

use crate::bindings::plugin::zipfs::plugin::types;
use crate::bindings::prompts::exports::zipfs::plugin::prompts as contract;
use crate::{Error, Questions, Resumption};

pub use crate::bindings::prompts::exports::zipfs::plugin::prompts::{
    FilledPrompt, Message, Prompt, PromptArgument, PromptReply, Speaker,
};

/// A plugin that has prompts.
pub trait Prompts {
    /// The prompts there are.
    fn list() -> Result<Vec<Prompt>, Error>;

    /// Fills one in. The host has checked that the required arguments are there. `FilledPrompt { … }.into()` is the usual answer;
    /// [`Questions`] ask the client first, and come back answered as `resumed`.
    fn get(name: &str, arguments: &[(String, String)], resumed: Option<Resumption>) -> Result<PromptReply, Error>;
}

impl From<FilledPrompt> for PromptReply {
    fn from(prompt: FilledPrompt) -> PromptReply {
        PromptReply::Filled(prompt)
    }
}

impl From<Questions> for PromptReply {
    fn from(questions: Questions) -> PromptReply {
        PromptReply::InputRequired(questions.into())
    }
}

/// Answers the host for a plugin.
#[doc(hidden)]
pub struct Answering<P>(P);

impl<P: Prompts> contract::Guest for Answering<P> {
    fn list_prompts() -> Result<Vec<Prompt>, types::Error> {
        Ok(P::list()?)
    }

    fn get(
        name: String,
        arguments: Vec<(String, String)>,
        resumed: Option<types::Resumption>,
    ) -> Result<PromptReply, types::Error> {
        Ok(P::get(&name, &arguments, resumed.map(Resumption::from))?)
    }
}
