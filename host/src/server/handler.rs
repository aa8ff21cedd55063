//! The MCP server: each method of the protocol, turned into a question to the gate and back.
// Setting a log level is deprecated in the newest revision and part of the older ones.
#![allow(deprecated)]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, MetaObject, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Reference, RequestStateCodec, ServerCapabilities, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};

use super::endpoint::{Callers, Endpoint};
use super::events::{Forwarder, Wanted};
use super::input;
use super::instructions::instructions;
use super::listeners::{Listeners, tell};
use super::wire;
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Answer, Audience, Call, Gate, Origin, Principal, Reader, Refusal, Trace, Transport};
use crate::plugins::{Found, Registry};
use crate::sandbox::bindings::completions::exports::zipfs::plugin::completions::Target;
use crate::sandbox::guest::Client;

/// How long a client may keep a list without asking again. It is told when lists change.
const LISTS_LIVE_MS: u64 = 60_000;

const NO_LEVEL: u8 = u8::MAX;

/// How often the plugins are looked at. A look is one `stat`.
const WATCH: Duration = Duration::from_millis(500);

/// Serves one endpoint. Cheap to clone; a clone serves the same client.
#[derive(Clone)]
pub struct Handler {
    shared: Arc<Shared>,
    /// What `logging/setLevel` asked for, in older revisions: a matter of one client.
    level: Arc<AtomicU8>,
}

/// What all clients of an endpoint share.
struct Shared {
    gate: Arc<Gate>,
    endpoint: Endpoint,
    listeners: Listeners,
    /// Seals what tools want to remember between questions. The key lives as long as the process.
    codec: RequestStateCodec,
    /// The registry that clients know of.
    announced: Mutex<Arc<Registry>>,
    /// What is answered often and changes rarely, made once for each registry.
    shown: Mutex<Option<Shown>>,
}

#[derive(Clone)]
struct Shown {
    registry: Arc<Registry>,
    tools: Arc<Vec<(Found, Tool)>>,
    info: Arc<ServerConfig>,
}

impl Handler {
    pub fn new(gate: Arc<Gate>, endpoint: Endpoint) -> Handler {
        let mut key = uuid::Uuid::new_v4().into_bytes().to_vec();
        key.extend(uuid::Uuid::new_v4().into_bytes());
        let shared = Shared {
            announced: Mutex::new(gate.registry()),
            gate,
            endpoint,
            listeners: Listeners::default(),
            codec: RequestStateCodec::new(key),
            shown: Mutex::new(None),
        };
        Handler { shared: Arc::new(shared), level: Arc::new(AtomicU8::new(NO_LEVEL)) }
    }

    /// The same endpoint for one more client.
    pub fn for_another_client(&self) -> Handler {
        Handler { shared: self.shared.clone(), level: Arc::new(AtomicU8::new(NO_LEVEL)) }
    }

    /// Looks after the plugins from now on, for as long as the process lives.
    pub fn watch(&self) {
        let watched = self.clone();
        tokio::spawn(async move {
            let mut tick = tokio::time::interval(WATCH);
            loop {
                tick.tick().await;
                watched.announce_changes().await;
            }
        });
    }

    /// Looks whether plugins came or went, and tells the clients.
    pub async fn announce_changes(&self) {
        self.shared.gate.refresh().await;
        let registry = self.shared.gate.registry();
        // Somebody else may have noticed the change first; what counts is what was announced.
        let before = std::mem::replace(
            &mut *self.shared.announced.lock().unwrap_or_else(|poisoned| poisoned.into_inner()),
            registry.clone(),
        );
        if !Arc::ptr_eq(&before, &registry) {
            self.shared.listeners.announce().await;
        }
    }

    fn shown(&self) -> Shown {
        let registry = self.shared.gate.registry();
        let mut kept = self.shared.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*kept {
            Some(shown) if Arc::ptr_eq(&shown.registry, &registry) => shown.clone(),
            _ => kept.insert(self.show(registry)).clone(),
        }
    }

    fn show(&self, registry: Arc<Registry>) -> Shown {
        let names = self.shared.endpoint.names(self.shared.gate.config.settings.tool_names);
        let offered = registry.tools().filter(|(_, found)| self.shared.endpoint.offers(&found.plugin));
        let tools = offered.map(|(portable, found)| (found.clone(), wire::tool(portable, found, names))).collect();
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
        let endpoint = &self.shared.endpoint;
        let info = ServerConfig::new(capabilities)
            .with_server_info(endpoint.identity(&registry))
            .with_instructions(instructions(&registry, endpoint));
        Shown { registry, tools: Arc::new(tools), info: Arc::new(info) }
    }

    /// Runs a tool, asking older clients in between whatever it wants to know.
    async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let principal = self.principal(context)?;
        let client = client_of(context);
        let modern = is_modern(context);
        let tool = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        // An answer given for one call is no answer for another, nor for another caller's.
        let about = format!("{} {tool} {}", principal.id, json!(arguments));
        let mut origin = self.origin(context);
        let resumed = input::resumption(&self.shared.codec, &about, request.input_responses, request.request_state);
        let mut resumed = resumed.map_err(|why| self.refuse(&principal, &origin, &tool, why))?;
        let (events, forwarder) = Forwarder::start(&context.peer, self.wanted(context));
        let mut rounds = 0;
        let answered = loop {
            let call = Call {
                tool: tool.clone(),
                arguments: arguments.clone(),
                principal: principal.clone(),
                only: self.shared.endpoint.only.clone(),
                origin: origin.clone(),
                resumed: resumed.take(),
                audience: Audience { events: events.clone(), client: client.clone() },
                cancel: context.ct.clone(),
            };
            let question = match self.shared.gate.call(call).await {
                Ok(Answer::Complete(outcome)) => break Ok(wire::outcome(outcome).into()),
                Err(Refusal::UnknownTool(name)) => {
                    break Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
                }
                Err(Refusal::Failed { failure, shape }) => break Ok(wire::failure(&failure, shape).into()),
                Ok(Answer::InputRequired(question)) => question,
            };
            rounds += 1;
            origin.round += 1;
            let asked = match input::check_abilities(&question, &client) {
                Err(failure) => Err(failure),
                Ok(()) if rounds > input::MOST_ROUNDS => Err(Failure::limit("The tool asks without end.")),
                Ok(()) if modern => match input::as_result(&self.shared.codec, &about, question) {
                    Ok(result) => break Ok(result.into()),
                    Err(failure) => Err(failure),
                },
                Ok(()) => input::ask(context, question).await,
            };
            match asked {
                Ok(answers) => resumed = Some(answers),
                Err(failure) => break Ok(wire::failure(&failure, Shape::default()).into()),
            }
        };
        drop(events);
        if let Some(forwarder) = forwarder {
            forwarder.finish().await;
        }
        answered
    }

    fn origin(&self, context: &RequestContext<RoleServer>) -> Origin {
        let (transport, headers) = match context.extensions.get::<hyper::http::request::Parts>() {
            Some(parts) => (Transport::Http, Some(&parts.headers)),
            None => (Transport::Stdio, None),
        };
        let header = || headers?.get("traceparent")?.to_str().ok();
        let trace = context.meta.get_traceparent().or_else(header).and_then(Trace::parse);
        Origin { trace, ..Origin::new(transport) }
    }

    /// Turns a call away that is wrong on the wire. It is a call all the same, and is written down.
    fn refuse(&self, principal: &Principal, origin: &Origin, tool: &str, why: String) -> ErrorData {
        let failure = Failure::invalid(why);
        match self.shared.gate.record_refused(principal, origin, tool, &failure) {
            Ok(()) => ErrorData::invalid_params(failure.message, None),
            Err(failure) => protocol_error(failure),
        }
    }

    fn wanted(&self, context: &RequestContext<RoleServer>) -> Wanted {
        let log = match is_modern(context) {
            // Only a request that asks for messages gets them.
            true => context.meta.log_level(),
            false => level_from(self.level.load(Ordering::Relaxed)),
        };
        Wanted { progress: context.meta.get_progress_token(), log }
    }

    /// Who sent this request.
    fn principal(&self, context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
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
        let found = shown.registry.find(name).filter(|found| self.shared.endpoint.offers(&found.plugin))?;
        Some(wire::tool(
            &found.tool().portable_name(),
            &found,
            self.shared.endpoint.names(self.shared.gate.config.settings.tool_names),
        ))
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
        if let CallToolResponse::Complete(result) = &mut response {
            result.meta = self.stamp(&context);
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
        let arguments = request.arguments.unwrap_or_default().into_iter().map(|(name, value)| (name, as_text(value))).collect();
        let filled =
            self.shared.gate.get_prompt(&self.reader(&context)?, &request.name, arguments).await.map_err(protocol_error)?;
        let mut result = wire::filled_prompt(filled);
        result.meta = self.stamp(&context);
        Ok(result.into())
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
        // Single resources are not watched; the rest is.
        let mut accepted = wanted.clone();
        accepted.resource_subscriptions = None;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let before = self.shared.gate.registry();
        self.shared.listeners.add_sink(context.sink().clone());
        // The client was told that it listens before we did; what changed in between is told now.
        self.shared.gate.refresh().await;
        if !Arc::ptr_eq(&before, &self.shared.gate.registry()) {
            tell(context.sink()).await;
        }
        context.cancelled().await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.listeners.add_peer(context.peer);
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn client_of(context: &RequestContext<RoleServer>) -> Client {
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
fn protocol_error(failure: Failure) -> ErrorData {
    let code = match failure.class {
        Class::Invalid | Class::NotFound => ErrorCode::INVALID_PARAMS,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    ErrorData::new(code, failure.sentence(), Some(failure.render(Shape::default())))
}
