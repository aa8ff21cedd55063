//! Prompts: texts that a person picks in their client. Exported by `export!(… with prompts)`.

use crate::Error;
use crate::bindings::plugin::zipfs::plugin::types;
use crate::bindings::prompts::exports::zipfs::plugin::prompts as contract;

pub use crate::bindings::prompts::exports::zipfs::plugin::prompts::{FilledPrompt, Message, Prompt, PromptArgument, Speaker};

/// A plugin that has prompts.
pub trait Prompts {
    /// The prompts there are.
    fn list() -> Result<Vec<Prompt>, Error>;

    /// Fills one in. The host has checked that the required arguments are there.
    fn get(name: &str, arguments: &[(String, String)]) -> Result<FilledPrompt, Error>;
}

/// Answers the host for a plugin.
#[doc(hidden)]
pub struct Answering<P>(P);

impl<P: Prompts> contract::Guest for Answering<P> {
    fn list_prompts() -> Result<Vec<Prompt>, types::Error> {
        Ok(P::list()?)
    }

    fn get(name: String, arguments: Vec<(String, String)>) -> Result<FilledPrompt, types::Error> {
        Ok(P::get(&name, &arguments)?)
    }
}
