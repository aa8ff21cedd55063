//! The MCP server: each method of the protocol, turned into a question to the gate and back.
// Setting a log level is deprecated in the newest revision and part of the older ones.
#![allow(deprecated)]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CompletionInfo,
    ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, RequestStateCodec,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::endpoint::{Callers, Endpoint};
use super::events::Wanted;
use super::http::carried;
use super::input;
use super::instructions::instructions;
use super::listeners::{Listeners, Watched, tell, unwatch, watch};
use super::relief::Relief;
use super::tasks::Tasks;
use super::wire;
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Gate, Origin, Principal, PromptAnswer, Reader, Trace, Transport};
use crate::plugins::{Found, Registry};
use crate::sandbox::bindings::completions::exports::zipfs::plugin::completions::Target;
use crate::sandbox::guest::{Change, Client};

/// How long a client may keep a list without asking again. It is told when lists change.
const LISTS_LIVE_MS: u64 = 60_000;

const NO_LEVEL: u8 = u8::MAX;

/// What may have changed when plugins come or go.
const LISTS: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

/// How often the plugins are looked at. A look is one `stat`.
const WATCH: Duration = Duration::from_millis(500);

/// Serves one endpoint. Cheap to clone; a clone serves the same client.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<Shared>,
    /// What `logging/setLevel` asked for, in older revisions: a matter of one client.
    level: Arc<AtomicU8>,
    watched: Watched,
    /// Where calls can run when several have to be answered; without it the runtime sees to that.
    pub(super) relief: Option<Arc<Relief>>,
}

/// What all clients of an endpoint share.
struct Shared {
    gate: Arc<Gate>,
    endpoint: Endpoint,
    listeners: Listeners,
    tasks: Arc<Tasks>,
    /// Seals what tools want to remember between questions. The key lives as long as the process.
    codec: RequestStateCodec,
    /// What clients know of.
    announced: Mutex<Offer>,
    /// What is answered often and changes rarely, made once for each registry.
    shown: Mutex<Option<Shown>>,
}

/// What lists are made from.
#[derive(Clone)]
struct Offer {
    registry: Arc<Registry>,
    /// Plugins that work on a directory of their own: their tools take no session.
    bound: Vec<String>,
}

impl Offer {
    fn of(gate: &Gate) -> Offer {
        let registry = gate.registry();
        Offer { bound: gate.bound(&registry), registry }
    }

    fn is(&self, other: &Offer) -> bool {
        Arc::ptr_eq(&self.registry, &other.registry) && self.bound == other.bound
    }

    fn is_bound(&self, found: &Found) -> bool {
        self.bound.contains(&found.plugin.description.name)
    }
}

#[derive(Clone)]
struct Shown {
    offer: Offer,
    tools: Arc<Vec<(Found, Tool)>>,
    info: Arc<ServerConfig>,
}

impl Handler {
    pub fn new(gate: Arc<Gate>, endpoint: Endpoint) -> Handler {
        let mut key = uuid::Uuid::new_v4().into_bytes().to_vec();
        key.extend(uuid::Uuid::new_v4().into_bytes());
        let shared = Shared {
            announced: Mutex::new(Offer::of(&gate)),
            tasks: Tasks::new(gate.config.settings.tasks.clone()),
            gate,
            endpoint,
            listeners: Listeners::default(),
            codec: RequestStateCodec::new(key),
            shown: Mutex::new(None),
        };
        Handler { shared: Arc::new(shared), level: Arc::new(AtomicU8::new(NO_LEVEL)), watched: Watched::default(), relief: None }
    }

    /// The same endpoint for one more client.
    pub fn for_another_client(&self) -> Handler {
        let (shared, relief) = (self.shared.clone(), self.relief.clone());
        Handler { shared, level: Arc::new(AtomicU8::new(NO_LEVEL)), watched: Watched::default(), relief }
    }

    /// The same with other threads for its calls.
    pub fn relieved_by(self, relief: Arc<Relief>) -> Handler {
        Handler { relief: Some(relief), ..self }
    }

    /// Looks after the plugins from now on, for as long as the process lives.
    pub fn watch(&self) {
        let (watched, gate) = (self.clone(), self.shared.gate.clone());
        let mut changes = self.shared.gate.changes.subscribe();
        // Apart from the other, which must not wait for a compiler.
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(WATCH);
            loop {
                tick.tick().await;
                gate.take_up_incoming().await;
            }
        });
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(WATCH);
            loop {
                tokio::select! {
                    _ = tick.tick() => watched.announce_changes().await,
                    said = changes.recv() => match said {
                        Ok((plugin, change)) => watched.announce_of(&plugin, change).await,
                        // Too much at once; whoever asks anew gets all of it.
                        Err(RecvError::Lagged(_)) => watched.shared.listeners.announce(&LISTS).await,
                        Err(RecvError::Closed) => return,
                    },
                }
            }
        });
    }

    /// Looks whether plugins came or went, and tells the clients.
    pub async fn announce_changes(&self) {
        self.shared.gate.refresh().await;
        let offer = Offer::of(&self.shared.gate);
        // Somebody else may have noticed the change first; what counts is what was announced.
        let before =
            std::mem::replace(&mut *self.shared.announced.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), offer.clone());
        if !before.is(&offer) {
            self.shared.listeners.announce(&LISTS).await;
        }
    }

    /// A guest said that what its plugin offers changed.
    async fn announce_of(&self, plugin: &str, change: Change) {
        if self.shared.endpoint.only.as_deref().is_none_or(|only| only == plugin) {
            self.shared.listeners.announce(&[change]).await;
        }
    }

    fn shown(&self) -> Shown {
        let offer = Offer::of(&self.shared.gate);
        let mut kept = self.shared.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*kept {
            Some(shown) if shown.offer.is(&offer) => shown.clone(),
            _ => kept.insert(self.show(offer)).clone(),
        }
    }

    fn show(&self, offer: Offer) -> Shown {
        let registry = &offer.registry;
        let names = self.shared.endpoint.names(self.shared.gate.config.settings.tool_names);
        let offered = registry.tools().filter(|(_, found)| self.shared.endpoint.offers(&found.plugin));
        let tools =
            offered.map(|(portable, found)| (found.clone(), wire::tool(portable, found, names, offer.is_bound(found)))).collect();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        let endpoint = &self.shared.endpoint;
        let info = ServerConfig::new(capabilities)
            .with_server_info(endpoint.identity(registry))
            .with_instructions(instructions(registry, endpoint));
        Shown { tools: Arc::new(tools), info: Arc::new(info), offer }
    }

    pub(super) fn gate(&self) -> &Arc<Gate> {
        &self.shared.gate
    }

    pub(super) fn tasks(&self) -> &Arc<Tasks> {
        &self.shared.tasks
    }

    pub(super) fn codec(&self) -> &RequestStateCodec {
        &self.shared.codec
    }

    /// The one plugin that the endpoint offers.
    pub(super) fn only(&self) -> Option<Arc<str>> {
        self.shared.endpoint.only.clone()
    }

    pub(super) fn origin(&self, context: &RequestContext<RoleServer>) -> Origin {
        let origin = match context.extensions.get::<hyper::http::request::Parts>() {
            Some(parts) => carried::origin(Transport::Http, parts),
            None => Origin::new(Transport::Stdio),
        };
        // The message's own word is nearer to the call than the envelope's.
        let own = context.meta.get_traceparent().and_then(Trace::parse);
        Origin { trace: own.or(origin.trace), ..origin }
    }

    /// Turns a call away that is wrong on the wire. It is a call all the same, and is written down.
    pub(super) fn refuse(
        &self,
        principal: &Principal,
        origin: &Origin,
        tool: &str,
        failure: &Failure,
        error: ErrorData,
    ) -> ErrorData {
        match self.shared.gate.record_refused(principal, origin, tool, failure) {
            Ok(()) => error,
            Err(failure) => protocol_error(failure),
        }
    }

    pub(super) fn wanted(&self, context: &RequestContext<RoleServer>) -> Wanted {
        let log = match is_modern(context) {
            // Only a request that asks for messages gets them.
            true => context.meta.log_level(),
            false => level_from(self.level.load(Ordering::Relaxed)),
        };
        Wanted { progress: context.meta.get_progress_token(), log }
    }

    /// Who sent this request.
    pub(super) fn principal(&self, context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
        if self.shared.endpoint.callers == Callers::Local {
            return Ok(Principal::local());
        }
        let carried = context.extensions.get::<hyper::http::request::Parts>();
        let principal = carried.and_then(|parts| parts.extensions.get::<Principal>());
        principal.cloned().ok_or_else(|| ErrorData::internal_error("The request does not say who sent it.", None))
    }

    fn reader(&self, context: &RequestContext<RoleServer>) -> Result<Reader, ErrorData> {
        let (principal, only) = (self.principal(context)?, self.shared.endpoint.only.clone());
        Ok(Reader { principal, only, origin: self.origin(context), cancel: context.ct.clone() })
    }

    /// Who answered, on every result of the stateless revision.
    fn stamp(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        is_modern(context).then(|| {
            let mut meta = Map::new();
            meta.insert("io.modelcontextprotocol/serverInfo".into(), json!(self.shown().info.server_info));
            MetaObject(meta)
        })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        (*self.shown().info).clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let shown = self.shown();
        let found = shown.offer.registry.find(name).filter(|found| self.shared.endpoint.offers(&found.plugin))?;
        let names = self.shared.endpoint.names(self.shared.gate.config.settings.tool_names);
        Some(wire::tool(&found.tool().portable_name(), &found, names, shown.offer.is_bound(&found)))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.shared.gate.refresh().await;
        let principal = self.principal(&context)?;
        let shown = self.shown();
        let usable = shown.tools.iter().filter(|(found, _)| self.shared.gate.shows(&principal, found));
        // What one caller may use must not be handed to another by something in between.
        let scope = if principal.is_remote() { CacheScope::Private } else { CacheScope::Public };
        let mut result = ListToolsResult::with_all_items(usable.map(|(_, tool)| tool.clone()).collect())
            .with_ttl_ms(LISTS_LIVE_MS)
            .with_cache_scope(scope);
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut response = self.run(request, &context).await?;
        match &mut response {
            CallToolResponse::Complete(result) => result.meta = self.stamp(&context),
            CallToolResponse::InputRequired(result) => result.meta = self.stamp(&context),
            CallToolResponse::Task(result) => result.meta = self.stamp(&context),
            _ => {}
        }
        Ok(response)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let entries = self.shared.gate.list_resources(&self.reader(&context)?).await;
        let mut result = ListResourcesResult::with_all_items(entries.into_iter().map(wire::resource).collect());
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.shared.gate.list_resource_templates(&self.reader(&context)?).await;
        let mut result = ListResourceTemplatesResult::with_all_items(templates.into_iter().map(wire::resource_template).collect());
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.shared.gate.read_resource(&self.reader(&context)?, &request.uri).await {
            Ok(contents) => {
                let mut result = ReadResourceResult::new(contents.into_iter().map(wire::resource_contents).collect());
                result.meta = self.stamp(&context);
                Ok(result.into())
            }
            Err(failure) if failure.class == Class::NotFound => {
                Err(ErrorData::resource_not_found(failure.sentence(), Some(json!({"uri": request.uri}))))
            }
            Err(failure) => Err(protocol_error(failure)),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.shared.gate.list_prompts(&self.reader(&context)?).await;
        let mut result = ListPromptsResult::with_all_items(prompts.into_iter().map(wire::prompt).collect());
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let reader = self.reader(&context)?;
        let arguments: Vec<(String, String)> =
            request.arguments.unwrap_or_default().into_iter().map(|(name, value)| (name, as_text(value))).collect();
        let about = format!("{} prompts/get {} {}", reader.principal.id, request.name, json!(arguments));
        let resumed = input::resumption(self.codec(), &about, request.input_responses, request.request_state);
        let mut resumed = resumed.map_err(|why| ErrorData::invalid_params(why, None))?;
        for _ in 0..input::MOST_ROUNDS {
            let asked = self.shared.gate.get_prompt(&reader, &request.name, arguments.clone(), resumed.take()).await;
            let question = match asked.map_err(protocol_error)? {
                PromptAnswer::Filled(filled) => {
                    let mut result = wire::filled_prompt(filled);
                    result.meta = self.stamp(&context);
                    return Ok(result.into());
                }
                PromptAnswer::InputRequired(question) => question,
            };
            input::check_abilities(&question, &client_of(&context)).map_err(|lacking| lacking.error())?;
            if is_modern(&context) {
                let mut result = input::as_result(self.codec(), &about, question).map_err(protocol_error)?;
                result.meta = self.stamp(&context);
                return Ok(result.into());
            }
            resumed = Some(input::ask(&context, question).await.map_err(protocol_error)?);
        }
        Err(ErrorData::internal_error("The prompt asks without end.", None))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let target = match request.r#ref {
            Reference::Prompt(prompt) => Target::Prompt(prompt.name),
            Reference::Resource(resource) => Target::Template(resource.uri),
            _ => return Err(ErrorData::invalid_params("`ref` is neither a prompt nor a resource", None)),
        };
        let filled_in = request.context.and_then(|context| context.arguments).unwrap_or_default().into_iter().collect();
        let proposals = self
            .shared
            .gate
            .complete(&self.reader(&context)?, target, &request.argument.name, &request.argument.value, filled_in)
            .await
            .map_err(protocol_error)?;
        let mut completion = CompletionInfo::default();
        completion.values = proposals.values.into_iter().take(CompletionInfo::MAX_VALUES).collect();
        completion.total = proposals.total;
        completion.has_more = Some(proposals.has_more);
        let mut result = CompleteResult::new(completion);
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.level.store(request.level as u8, Ordering::Relaxed);
        Ok(())
    }

    fn accepted_subscription_filter(&self, wanted: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(wanted.clone())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        match watch(&self.watched, request.uri) {
            true => Ok(()),
            false => Err(ErrorData::invalid_request("Too many resources are watched.", None)),
        }
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        unwatch(&self.watched, &request.uri);
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, context: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        let task = self.shared.tasks.get(&self.principal(&context)?.id, &request.task_id)?;
        let mut result = GetTaskResult::new(task);
        result.meta = self.stamp(&context);
        Ok(result)
    }

    async fn update_task(&self, request: UpdateTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.shared.tasks.update(&self.principal(&context)?.id, &request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.shared.tasks.cancel(&self.principal(&context)?.id, &request.task_id)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let before = Offer::of(&self.shared.gate);
        self.shared.listeners.add_sink(context.sink().clone());
        // The client was told that it listens before we did; what changed in between is told now.
        self.shared.gate.refresh().await;
        if !before.is(&Offer::of(&self.shared.gate)) {
            tell(context.sink(), &LISTS).await;
        }
        context.cancelled().await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.listeners.add_peer(context.peer, self.watched.clone());
    }
}

pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(super) fn client_of(context: &RequestContext<RoleServer>) -> Client {
    let capabilities = context.client_capabilities().unwrap_or_default();
    Client {
        elicitation: capabilities.elicitation.is_some(),
        sampling: capabilities.sampling.is_some(),
        roots: capabilities.roots.is_some(),
        revision: context.protocol_version().map(|version| version.to_string()).unwrap_or_default(),
    }
}

fn level_from(stored: u8) -> Option<LoggingLevel> {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency].into_iter().find(|level| *level as u8 == stored)
}

fn as_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// For methods whose results have no place for a tool's error.
pub(super) fn protocol_error(failure: Failure) -> ErrorData {
    let code = match failure.class {
        Class::Invalid | Class::NotFound => ErrorCode::INVALID_PARAMS,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    ErrorData::new(code, failure.sentence(), Some(failure.render(Shape::default())))
}
