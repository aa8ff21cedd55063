//! Running guests: the tool of a call, and the optional exports: resources, prompts, completions.

use std::pin::Pin;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use wasmtime::Store;

use super::calls::Audience;
use super::open::Gate;
use crate::failure::{Class, Failure};
use crate::plugins::{Found, Plugin};
use crate::sandbox::bindings::completions::exports::zipfs::plugin::completions::{Proposals, Target};
use crate::sandbox::bindings::prompts::exports::zipfs::plugin::prompts::{FilledPrompt, Prompt};
use crate::sandbox::bindings::resources::exports::zipfs::plugin::resources::{ResourceEntry, ResourceTemplate};
use crate::sandbox::bindings::tools::Reply;
use crate::sandbox::bindings::types::{Error, ResourceContents, Resumption};
use crate::sandbox::guest::{CallContext, Guest};
use crate::sandbox::limits::Limits;
use crate::sandbox::{Capability, Compiled};

/// What a guest function gives: its own result, unless it broke down.
type Answer<'a, T> = Pin<Box<dyn Future<Output = wasmtime::Result<Result<T, Error>>> + Send + 'a>>;

impl Gate {
    pub(super) async fn run_tool(
        &self,
        found: &Found,
        arguments: String,
        resumed: Option<Resumption>,
        context: CallContext,
        cancel: &CancellationToken,
    ) -> Result<Reply, Failure> {
        let name = found.tool().name.clone();
        let works_on_sessions = found.tool().access.capabilities.contains(&Capability::Sessions);
        let limits = Limits::of_call(&self.config.settings.calls, works_on_sessions);
        self.run(&found.plugin, context, &limits, cancel, move |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.tools.as_ref(), "tools")?.instantiate_async(&mut *store).await?;
                plugin.zipfs_plugin_tools().call_call(store, &name, &arguments, resumed.as_ref()).await
            })
        })
        .await
    }

    /// The resources of all plugins, plugin by plugin.
    pub async fn list_resources(&self) -> Result<Vec<ResourceEntry>, Failure> {
        let mut all = Vec::new();
        for plugin in self.offering(|plugin| plugin.description.has_resources).await {
            all.extend(
                self.read_from(&plugin, Audience::default(), |store, compiled| {
                    Box::pin(async move {
                        let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                        plugin.zipfs_plugin_resources().call_list_resources(store).await
                    })
                })
                .await?,
            );
        }
        Ok(all)
    }

    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        let mut all = Vec::new();
        for plugin in self.offering(|plugin| plugin.description.has_resources).await {
            all.extend(
                self.read_from(&plugin, Audience::default(), |store, compiled| {
                    Box::pin(async move {
                        let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                        plugin.zipfs_plugin_resources().call_list_templates(store).await
                    })
                })
                .await?,
            );
        }
        Ok(all)
    }

    /// Reads a resource from the first plugin that knows it.
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, Failure> {
        for plugin in self.offering(|plugin| plugin.description.has_resources).await {
            let wanted = uri.to_owned();
            let read = self
                .read_from(&plugin, Audience::default(), move |store, compiled| {
                    Box::pin(async move {
                        let plugin = exported(compiled.resources.as_ref(), "resources")?.instantiate_async(&mut *store).await?;
                        plugin.zipfs_plugin_resources().call_read(store, &wanted).await
                    })
                })
                .await;
            match read {
                Err(failure) if failure.class == Class::NotFound => {}
                // An empty answer would be taken for an empty resource.
                Ok(contents) if contents.is_empty() => {}
                other => return other,
            }
        }
        Err(Failure::new(Class::NotFound, "RESOURCE_NOT_FOUND", format!("There is no resource {uri:?}.")))
    }

    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, Failure> {
        let mut all = Vec::new();
        for plugin in self.offering(|plugin| plugin.description.has_prompts).await {
            all.extend(self.prompts_of(&plugin).await?);
        }
        Ok(all)
    }

    /// Fills a prompt in. Arguments that it requires are checked here.
    pub async fn get_prompt(&self, name: &str, arguments: Vec<(String, String)>) -> Result<FilledPrompt, Failure> {
        for plugin in self.offering(|plugin| plugin.description.has_prompts).await {
            let Some(prompt) = self.prompts_of(&plugin).await?.into_iter().find(|prompt| prompt.name == name) else { continue };
            let given = |wanted: &str| arguments.iter().any(|(name, _)| name == wanted);
            if let Some(missing) = prompt.arguments.iter().find(|argument| argument.required && !given(&argument.name)) {
                return Err(Failure::invalid(format!("The prompt {name} requires the argument `{}`.", missing.name)));
            }
            return self
                .read_from(&plugin, Audience::default(), move |store, compiled| {
                    Box::pin(async move {
                        let plugin = exported(compiled.prompts.as_ref(), "prompts")?.instantiate_async(&mut *store).await?;
                        plugin.zipfs_plugin_prompts().call_get(store, &prompt.name, &arguments).await
                    })
                })
                .await;
        }
        Err(Failure::invalid(format!("There is no prompt {name:?}.")))
    }

    async fn prompts_of(&self, plugin: &Arc<Plugin>) -> Result<Vec<Prompt>, Failure> {
        self.read_from(plugin, Audience::default(), |store, compiled| {
            Box::pin(async move {
                let plugin = exported(compiled.prompts.as_ref(), "prompts")?.instantiate_async(&mut *store).await?;
                plugin.zipfs_plugin_prompts().call_list_prompts(store).await
            })
        })
        .await
    }

    /// What could stand for an argument, from the first plugin that has a proposal.
    pub async fn complete(
        &self,
        target: Target,
        name: &str,
        value: &str,
        filled_in: Vec<(String, String)>,
    ) -> Result<Proposals, Failure> {
        for plugin in self.offering(|plugin| plugin.description.has_completions).await {
            let (target, name, value, filled_in) = (target.clone(), name.to_owned(), value.to_owned(), filled_in.clone());
            let proposed = self
                .read_from(&plugin, Audience::default(), move |store, compiled| {
                    Box::pin(async move {
                        let plugin = exported(compiled.completions.as_ref(), "completions")?.instantiate_async(&mut *store).await?;
                        plugin.zipfs_plugin_completions().call_complete(store, &target, &name, &value, &filled_in).await
                    })
                })
                .await;
            match proposed {
                Err(failure) if failure.class == Class::NotFound => {}
                Ok(proposals) if proposals.values.is_empty() => {}
                other => return other,
            }
        }
        Ok(Proposals { values: Vec::new(), total: Some(0), has_more: false })
    }

    /// The plugins that have something, those that were just added included.
    async fn offering(&self, has: impl Fn(&Plugin) -> bool) -> Vec<Arc<Plugin>> {
        self.refresh().await;
        self.registry().plugins.iter().filter(|plugin| has(plugin)).cloned().collect()
    }

    async fn read_from<T: Send + 'static>(
        &self,
        plugin: &Arc<Plugin>,
        audience: Audience,
        work: impl for<'a> FnOnce(&'a mut Store<Guest>, &'a Compiled) -> Answer<'a, T> + Send + 'static,
    ) -> Result<T, Failure> {
        let context = self.grant_reading(plugin, audience).await?;
        let limits = Limits::of_call(&self.config.settings.calls, false);
        self.run(plugin, context, &limits, &CancellationToken::new(), work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        plugin: &Plugin,
        context: CallContext,
        limits: &Limits,
        cancel: &CancellationToken,
        work: impl for<'a> FnOnce(&'a mut Store<Guest>, &'a Compiled) -> Answer<'a, T> + Send + 'static,
    ) -> Result<T, Failure> {
        let compiled = plugin.compiled(&self.sandbox, &self.cache)?;
        let answer = self
            .sandbox
            .run(context, limits, cancel, move |mut store| async move {
                let result = work(&mut store, &compiled).await;
                (store, result)
            })
            .await?;
        answer.map_err(Failure::from)
    }
}

fn exported<'a, T>(export: Option<&'a T>, name: &str) -> wasmtime::Result<&'a T> {
    export.ok_or_else(|| wasmtime::format_err!("the component does not export `{name}`"))
}
