//! What plugins offer besides tools: resources, prompts, completions. The same steps as for a call, without arguments or changes.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::authorise;
use super::open::Gate;
use super::origin::Origin;
use super::principal::Principal;
use super::scopes::{Action, Extent};
use crate::failure::{Class, Failure};
use crate::plugins::Plugin;
use crate::sandbox::bindings::completions::exports::zipfs::plugin::completions::{Proposals, Target};
use crate::sandbox::bindings::prompts::exports::zipfs::plugin::prompts::{Prompt, PromptReply};
use crate::sandbox::bindings::resources::exports::zipfs::plugin::resources::{ResourceEntry, ResourceTemplate};
use crate::sandbox::bindings::types::{ResourceBody, ResourceContents, Resumption};
use crate::sandbox::exports::Visit;
use crate::sandbox::limits::Limits;
use crate::sandbox::run::too_large;

/// Who wants to read.
pub struct Reader {
    pub principal: Principal,
    /// The one plugin that the reader's endpoint offers; `None` where it offers all.
    pub only: Option<Arc<str>>,
    pub origin: Origin,
    pub cancel: CancellationToken,
}

/// Whether the scopes cover what a URI names below its scheme: `list:///notes/` is `/notes/`.
pub fn may_read(principal: &Principal, uri: &str) -> Result<(), Failure> {
    let Some(scopes) = &principal.scopes else { return Ok(()) };
    match path_of(uri) {
        Some(path) if scopes.allow(Action::Read, &path, Extent::Itself) => Ok(()),
        path => Err(authorise::out_of_scope(Action::Read, &path.unwrap_or_default(), Extent::Itself)),
    }
}

/// What a URI names below its scheme. Clients escape what stands for a variable of a template, slashes included, so escapes are
/// undone, once. What would change if they were undone again could be read differently by whoever answers; no scope covers it.
fn path_of(uri: &str) -> Option<String> {
    let path = uri.split_once("://").map_or(uri, |(_, path)| path);
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2).filter(|digits| !digits.starts_with('+'))?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok().filter(|decoded| !decoded.contains('%'))
}

impl Gate {
    /// The resources of all plugins. One that fails to list its own does not keep the others from being listed.
    pub async fn list_resources(&self, reader: &Reader) -> Vec<ResourceEntry> {
        let mut all = Vec::new();
        for plugin in self.offering(reader, |plugin| plugin.description.has_resources).await {
            all.extend(self.reading(&plugin, reader, "resources/list", Visit::list_resources).await.unwrap_or_default());
        }
        all
    }

    pub async fn list_resource_templates(&self, reader: &Reader) -> Vec<ResourceTemplate> {
        let mut all = Vec::new();
        for plugin in self.offering(reader, |plugin| plugin.description.has_resources).await {
            all.extend(self.reading(&plugin, reader, "resources/templates/list", Visit::list_templates).await.unwrap_or_default());
        }
        all
    }

    /// Reads a resource from the first plugin that knows it.
    pub async fn read_resource(&self, reader: &Reader, uri: &str) -> Result<Vec<ResourceContents>, Failure> {
        may_read(&reader.principal, uri)?;
        for plugin in self.offering(reader, |plugin| plugin.description.has_resources).await {
            let wanted = uri.to_owned();
            let named = path_of(uri).map(authorise::Touched::read);
            let read = self.reading(&plugin, reader, "resources/read", |visit| async move {
                authorise::may_follow(&reader.principal, visit.context.mount.as_ref(), named.as_slice())?;
                visit.read_resource(wanted).await
            });
            match read.await {
                Err(failure) if failure.class == Class::NotFound => {}
                // An empty answer would be taken for an empty resource.
                Ok(contents) if contents.is_empty() => {}
                Ok(contents) => return self.fitting(contents),
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::new(Class::NotFound, "RESOURCE_NOT_FOUND", format!("There is no resource {uri:?}.")))
    }

    pub async fn list_prompts(&self, reader: &Reader) -> Vec<Prompt> {
        let mut all = Vec::new();
        for plugin in self.offering(reader, |plugin| plugin.description.has_prompts).await {
            all.extend(self.reading(&plugin, reader, "prompts/list", Visit::list_prompts).await.unwrap_or_default());
        }
        all
    }

    /// Fills a prompt in. Arguments that it requires are checked here.
    pub async fn get_prompt(
        &self,
        reader: &Reader,
        name: &str,
        arguments: Vec<(String, String)>,
        resumed: Option<Resumption>,
    ) -> Result<PromptReply, Failure> {
        for plugin in self.offering(reader, |plugin| plugin.description.has_prompts).await {
            let prompts = self.reading(&plugin, reader, "prompts/list", Visit::list_prompts).await.unwrap_or_default();
            let Some(prompt) = prompts.into_iter().find(|prompt| prompt.name == name) else { continue };
            let given = |wanted: &str| arguments.iter().any(|(name, _)| name == wanted);
            if let Some(missing) = prompt.arguments.iter().find(|argument| argument.required && !given(&argument.name)) {
                return Err(Failure::invalid(format!("The prompt {name} requires the argument `{}`.", missing.name)));
            }
            return self.reading(&plugin, reader, "prompts/get", |visit| visit.get_prompt(prompt.name, arguments, resumed)).await;
        }
        Err(Failure::invalid(format!("There is no prompt {name:?}.")))
    }

    /// What could stand for an argument, from the first plugin that has a proposal.
    pub async fn complete(
        &self,
        reader: &Reader,
        target: Target,
        name: &str,
        value: &str,
        filled_in: Vec<(String, String)>,
    ) -> Result<Proposals, Failure> {
        for plugin in self.offering(reader, |plugin| plugin.description.has_completions).await {
            let (target, name, value, filled_in) = (target.clone(), name.to_owned(), value.to_owned(), filled_in.clone());
            let asked =
                self.reading(&plugin, reader, "completion/complete", |visit| visit.complete(target, name, value, filled_in)).await;
            match asked {
                Err(failure) if failure.class == Class::NotFound => {}
                Ok(proposals) if proposals.values.is_empty() => {}
                other => return other,
            }
        }
        Ok(Proposals { values: Vec::new(), total: Some(0), has_more: false })
    }

    /// The plugins that have something, those that were just added included.
    async fn offering(&self, reader: &Reader, has: impl Fn(&Plugin) -> bool) -> Vec<Arc<Plugin>> {
        self.refresh().await;
        let is_offered = |plugin: &Plugin| reader.only.as_deref().is_none_or(|only| plugin.description.name == only);
        self.registry().plugins.iter().filter(|plugin| is_offered(plugin) && has(plugin)).cloned().collect()
    }

    /// Asks one plugin, and writes down that it was asked.
    async fn reading<'a, T, W>(
        &'a self,
        plugin: &Arc<Plugin>,
        reader: &'a Reader,
        method: &'static str,
        ask: impl FnOnce(Visit<'a>) -> W,
    ) -> Result<T, Failure>
    where
        W: Future<Output = Result<T, Failure>>,
    {
        let mut entry = self.record(&reader.principal, &reader.origin, "read", method)?;
        entry.of_plugin(plugin);
        let read = async {
            let _turn = self.turns.take(&reader.principal)?;
            entry.told(self.prepare(plugin).await)?;
            let visit = Visit {
                sandbox: &self.sandbox,
                compiled: entry.told(plugin.compiled(&self.sandbox, &self.cache))?,
                context: entry.told(self.grant_reading(plugin, self.owner(&reader.principal)).await)?,
                limits: Limits::of_call(&self.config.settings.calls, false),
                cancel: &reader.cancel,
            };
            entry.watch(&visit);
            ask(visit).await
        }
        .await;
        entry.end_read(read)
    }

    fn fitting(&self, contents: Vec<ResourceContents>) -> Result<Vec<ResourceContents>, Failure> {
        let weigh = |contents: &ResourceContents| match &contents.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Bytes(bytes) => bytes.len(),
        };
        let most = self.config.settings.calls.result_bytes;
        match contents.iter().map(weigh).sum::<usize>() as u64 <= most {
            true => Ok(contents),
            false => Err(too_large(most as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_a_uri_are_undone_once() {
        let table = [
            ("list:///notes/", Some("/notes/")),
            ("list://notes%2Fa", Some("notes/a")),
            ("list://notes/%2e%2e/work", Some("notes/../work")),
            ("list://%C3%A9", Some("é")),
            ("list://%252e%252e/work", None),
            ("list://%zz", None),
            ("list://%+1", None),
            ("list://%2", None),
            ("list://%ff", None),
            ("list://a%é", None),
        ];
        for (uri, expected) in table {
            assert_eq!(path_of(uri).as_deref(), expected, "{uri}");
        }
    }
}
