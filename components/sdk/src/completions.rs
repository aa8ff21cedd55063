//! Completions: proposals while a person types. Exported by `export!(… with completions)`.

use crate::Error;
use crate::bindings::completions::exports::zipfs::plugin::completions as contract;
use crate::bindings::plugin::zipfs::plugin::types;

pub use crate::bindings::completions::exports::zipfs::plugin::completions::{Proposals, Target};

/// A plugin that completes arguments of its prompts or resource templates.
pub trait Completions {
    /// Completes `value`, the beginning of the argument `name`. `filled_in` are the arguments that already have a value.
    fn complete(target: &Target, name: &str, value: &str, filled_in: &[(String, String)]) -> Result<Proposals, Error>;
}

/// Answers the host for a plugin.
#[doc(hidden)]
pub struct Answering<P>(P);

impl<P: Completions> contract::Guest for Answering<P> {
    fn complete(target: Target, name: String, value: String, filled_in: Vec<(String, String)>) -> Result<Proposals, types::Error> {
        Ok(P::complete(&target, &name, &value, &filled_in)?)
    }
}
