//! What the host calls in a guest, one function for each export.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;
use wasmtime::Store;

use super::bindings::completions::exports::zipfs::plugin::completions::{Proposals, Target};
use super::bindings::prompts::exports::zipfs::plugin::prompts::{Prompt, PromptReply};
use super::bindings::resources::exports::zipfs::plugin::resources::{ResourceEntry, ResourceTemplate};
use super::bindings::tools::{PluginDescription, Reply};
use super::bindings::types::{Error, ResourceContents, Resumption};
use super::compiled::Compiled;
use super::engine::Sandbox;
use super::guest::{CallContext, Guest};
use super::limits::Limits;
use super::wasmcp::{Listed, Wasmcp};
use crate::failure::Failure;

/// One guest, about to be asked one thing.
pub struct Visit<'a> {
    pub sandbox: &'a Sandbox,
    pub compiled: Arc<Compiled>,
    pub context: CallContext,
    pub limits: Limits,
    pub cancel: &'a CancellationToken,
}

/// What a guest function gives: its own result, unless it broke down.
type Answer<'a, T> = Pin<Box<dyn Future<Output = wasmtime::Result<Result<T, Error>>> + Send + 'a>>;

impl Visit<'_> {
    /// Where it will stand if something of the session has to be put right.
    pub fn notice(&self) -> Option<Arc<OnceLock<String>>> {
        self.context.workspace.as_ref().map(|workspace| workspace.notice.clone())
    }

    pub async fn describe(self) -> Result<PluginDescription, Failure> {
        self.ask(|store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.tools.as_ref(), "tools")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_tools().call_describe(store).await.map(Ok)
            })
        })
        .await
    }

    /// What a component made for wasmcp lists.
    pub async fn list_tools(self, wasmcp: Arc<Wasmcp>) -> Result<Vec<Listed>, Failure> {
        self.ask(move |store, _| Box::pin(async move { wasmcp.list(store).await })).await
    }

    pub async fn call_tool(self, name: String, arguments: String, resumed: Option<Resumption>) -> Result<Reply, Failure> {
        if let Some(wasmcp) = self.compiled.wasmcp.clone() {
            return self.ask(move |store, _| Box::pin(async move { wasmcp.call(store, &name, &arguments).await })).await;
        }
        if let Ok(typed) = &self.compiled.typed {
            let typed = typed.clone();
            let prepared = typed.prepare(&name, &arguments)?;
            return self.ask(move |store, _| Box::pin(async move { typed.call(store, prepared).await })).await;
        }
        self.ask(move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.tools.as_ref(), "tools")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_tools().call_call(store, &name, &arguments, resumed.as_ref()).await
            })
        })
        .await
    }

    /// Makes an instance and lets it go.
    pub async fn instantiate(self) -> Result<(), Failure> {
        self.ask(|store, compiled| {
            Box::pin(async move {
                match (&compiled.tools, &compiled.wasmcp, &compiled.typed) {
                    (Some(plugin), ..) => plugin.instantiate_async(store).await.map(|_| ())?,
                    (None, Some(wasmcp), _) => wasmcp.instantiate(store).await?,
                    (None, None, Ok(typed)) => typed.instantiate(store).await?,
                    (None, None, Err(why)) => return Err(wasmtime::format_err!("{why}")),
                }
                Ok(Ok(()))
            })
        })
        .await
    }

    pub async fn list_resources(self) -> Result<Vec<ResourceEntry>, Failure> {
        self.ask(|store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_resources().call_list_resources(store).await
            })
        })
        .await
    }

    pub async fn list_templates(self) -> Result<Vec<ResourceTemplate>, Failure> {
        self.ask(|store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_resources().call_list_templates(store).await
            })
        })
        .await
    }

    pub async fn read_resource(self, uri: String) -> Result<Vec<ResourceContents>, Failure> {
        self.ask(move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_resources().call_read(store, &uri).await
            })
        })
        .await
    }

    pub async fn list_prompts(self) -> Result<Vec<Prompt>, Failure> {
        self.ask(|store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.prompts.as_ref(), "prompts")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_prompts().call_list_prompts(store).await
            })
        })
        .await
    }

    pub async fn get_prompt(
        self,
        name: String,
        arguments: Vec<(String, String)>,
        resumed: Option<Resumption>,
    ) -> Result<PromptReply, Failure> {
        self.ask(move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.prompts.as_ref(), "prompts")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_prompts().call_get(store, &name, &arguments, resumed.as_ref()).await
            })
        })
        .await
    }

    pub async fn complete(
        self,
        target: Target,
        name: String,
        value: String,
        filled_in: Vec<(String, String)>,
    ) -> Result<Proposals, Failure> {
        self.ask(move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.completions.as_ref(), "completions")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_completions().call_complete(store, &target, &name, &value, &filled_in).await
            })
        })
        .await
    }

    pub async fn run_part(self, tool: String, part: String) -> Result<String, Failure> {
        self.ask(move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.parts.as_ref(), "parts")?.instantiate_async(&mut *store).await?;
                store.data().call.timings.instantiated();
                plugin.zipfs_plugin_parts().call_run(store, &tool, &part).await
            })
        })
        .await
    }

    async fn ask<T: Send + 'static>(
        self,
        work: impl for<'a> FnOnce(&'a mut Store<Guest>, &'a Compiled) -> Answer<'a, T> + Send + 'static,
    ) -> Result<T, Failure> {
        let compiled = self.compiled;
        let answer = self
            .sandbox
            .run(self.context, &self.limits, self.cancel, move |mut store| async move {
                let result = work(&mut store, &compiled).await;
                (store, result)
            })
            .await?;
        answer.map_err(|error| bounded(error.into(), self.limits.result_bytes))
    }
}

fn exported<'a, T>(export: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    export.ok_or_else(|| wasmtime::format_err!("the component does not export `{name}`"))
}

/// A guest's error is part of its answer, and is held to the same limit: words are cut, details that are too long are left out.
fn bounded(mut failure: Failure, most: usize) -> Failure {
    use super::imports::progress::cut;
    const MOST_WORDS: usize = 16 << 10;
    failure.code = cut(failure.code.into_owned(), 100).into();
    failure.message = cut(failure.message, MOST_WORDS);
    failure.suggestion = failure.suggestion.map(|text| cut(text, MOST_WORDS));
    failure.details = failure.details.filter(|details| details.to_string().len() <= most);
    failure
}
