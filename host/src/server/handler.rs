//! The MCP server: each method of the protocol, turned into a question to the gate and back.
// Setting a log level is deprecated in the newest revision and part of the older ones.
#![allow(deprecated)]

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, RequestStateCodec, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};

use super::events::{Forwarder, Wanted};
use super::input;
use super::instructions::instructions;
use super::listeners::{Listeners, tell};
use super::wire;
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Answer, Audience, Call, Gate, Principal, Reader, Refusal};
use crate::plugins::Registry;
use crate::sandbox::bindings::completions::exports::zipfs::plugin::completions::Target;
use crate::sandbox::guest::Client;

/// How long a client may keep a list without asking again. It is told when lists change.
const LISTS_LIVE_MS: u64 = 60_000;

const NO_LEVEL: u8 = u8::MAX;

/// Serves one endpoint. Cheap to clone.
#[derive(Clone)]
pub struct Handler(Arc<State>);

struct State {
    gate: Arc<Gate>,
    listeners: Listeners,
    /// Seals what tools want to remember between questions. The key lives as long as the process.
    codec: RequestStateCodec,
    /// What `logging/setLevel` asked for, in older revisions.
    level: AtomicU8,
    /// The registry that clients know of.
    announced: Mutex<Arc<Registry>>,
    /// What is answered often and changes rarely, made once for each registry.
    shown: Mutex<Option<Shown>>,
}

#[derive(Clone)]
struct Shown {
    registry: Arc<Registry>,
    tools: Arc<Vec<Tool>>,
    info: Arc<ServerConfig>,
}

impl Handler {
    pub fn new(gate: Arc<Gate>) -> Handler {
        let mut key = uuid::Uuid::new_v4().into_bytes().to_vec();
        key.extend(uuid::Uuid::new_v4().into_bytes());
        Handler(Arc::new(State {
            announced: Mutex::new(gate.registry()),
            gate,
            listeners: Listeners::default(),
            codec: RequestStateCodec::new(key),
            level: AtomicU8::new(NO_LEVEL),
            shown: Mutex::new(None),
        }))
    }

    /// Looks whether plugins came or went, and tells the clients.
    pub async fn announce_changes(&self) {
        self.0.gate.refresh().await;
        let registry = self.0.gate.registry();
        // Somebody else may have noticed the change first; what counts is what was announced.
        let before =
            std::mem::replace(&mut *self.0.announced.lock().unwrap_or_else(|poisoned| poisoned.into_inner()), registry.clone());
        if !Arc::ptr_eq(&before, &registry) {
            self.0.listeners.announce().await;
        }
    }

    fn shown(&self) -> Shown {
        let registry = self.0.gate.registry();
        let mut kept = self.0.shown.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*kept {
            Some(shown) if Arc::ptr_eq(&shown.registry, &registry) => shown.clone(),
            _ => kept.insert(self.show(registry)).clone(),
        }
    }

    fn show(&self, registry: Arc<Registry>) -> Shown {
        let names = self.0.gate.config.settings.tool_names;
        let tools = registry.tools().map(|(portable, found)| wire::tool(portable, found, names)).collect();
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
        let info = ServerConfig::new(capabilities).with_server_info(identity()).with_instructions(instructions(&registry));
        Shown { registry, tools: Arc::new(tools), info: Arc::new(info) }
    }

    /// Runs a tool, asking older clients in between whatever it wants to know.
    async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = client_of(context);
        let modern = is_modern(context);
        let tool = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        // An answer given for one call is no answer for another.
        let about = format!("{tool} {}", json!(arguments));
        let mut resumed = input::resumption(&self.0.codec, &about, request.input_responses, request.request_state)
            .map_err(|why| ErrorData::invalid_params(why, None))?;
        let (events, forwarder) = Forwarder::start(&context.peer, self.wanted(context));
        let mut rounds = 0;
        let answered = loop {
            let call = Call {
                tool: tool.clone(),
                arguments: arguments.clone(),
                principal: Principal::local(),
                resumed: resumed.take(),
                audience: Audience { events: events.clone(), client: client.clone() },
                cancel: context.ct.clone(),
            };
            let question = match self.0.gate.call(call).await {
                Ok(Answer::Complete(outcome)) => break Ok(wire::outcome(outcome).into()),
                Err(Refusal::UnknownTool(name)) => {
                    break Err(ErrorData::invalid_params(format!("Unknown tool: {name}"), None));
                }
                Err(Refusal::Failed { failure, shape }) => break Ok(wire::failure(&failure, shape).into()),
                Ok(Answer::InputRequired(question)) => question,
            };
            rounds += 1;
            let asked = match input::check_abilities(&question, &client) {
                Err(failure) => Err(failure),
                Ok(()) if rounds > input::MOST_ROUNDS => Err(Failure::limit("The tool asks without end.")),
                Ok(()) if modern => match input::as_result(&self.0.codec, &about, question) {
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

    fn wanted(&self, context: &RequestContext<RoleServer>) -> Wanted {
        let log = match is_modern(context) {
            // Only a request that asks for messages gets them.
            true => context.meta.log_level(),
            false => level_from(self.0.level.load(Ordering::Relaxed)),
        };
        Wanted { progress: context.meta.get_progress_token(), log }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        (*self.shown().info).clone()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let shown = self.shown();
        let found = shown.registry.find(name)?;
        Some(wire::tool(&found.tool().portable_name(), &found, self.0.gate.config.settings.tool_names))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.gate.refresh().await;
        let mut result = ListToolsResult::with_all_items((*self.shown().tools).clone())
            .with_ttl_ms(LISTS_LIVE_MS)
            .with_cache_scope(CacheScope::Public);
        result.meta = stamp(&context);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut response = self.run(request, &context).await?;
        if let CallToolResponse::Complete(result) = &mut response {
            result.meta = stamp(&context);
        }
        Ok(response)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let entries = self.0.gate.list_resources(&reader(&context)).await;
        let mut result = ListResourcesResult::with_all_items(entries.into_iter().map(wire::resource).collect());
        result.meta = stamp(&context);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.0.gate.list_resource_templates(&reader(&context)).await;
        let mut result = ListResourceTemplatesResult::with_all_items(templates.into_iter().map(wire::resource_template).collect());
        result.meta = stamp(&context);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.0.gate.read_resource(&reader(&context), &request.uri).await {
            Ok(contents) => {
                let mut result = ReadResourceResult::new(contents.into_iter().map(wire::resource_contents).collect());
                result.meta = stamp(&context);
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
        let prompts = self.0.gate.list_prompts(&reader(&context)).await;
        let mut result = ListPromptsResult::with_all_items(prompts.into_iter().map(wire::prompt).collect());
        result.meta = stamp(&context);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default().into_iter().map(|(name, value)| (name, as_text(value))).collect();
        let filled = self.0.gate.get_prompt(&reader(&context), &request.name, arguments).await.map_err(protocol_error)?;
        let mut result = wire::filled_prompt(filled);
        result.meta = stamp(&context);
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
            .0
            .gate
            .complete(&reader(&context), target, &request.argument.name, &request.argument.value, filled_in)
            .await
            .map_err(protocol_error)?;
        let mut completion = CompletionInfo::default();
        completion.values = proposals.values.into_iter().take(CompletionInfo::MAX_VALUES).collect();
        completion.total = proposals.total;
        completion.has_more = Some(proposals.has_more);
        let mut result = CompleteResult::new(completion);
        result.meta = stamp(&context);
        Ok(result)
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.0.level.store(request.level as u8, Ordering::Relaxed);
        Ok(())
    }

    fn accepted_subscription_filter(&self, wanted: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // Single resources are not watched; the rest is.
        let mut accepted = wanted.clone();
        accepted.resource_subscriptions = None;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let before = self.0.gate.registry();
        self.0.listeners.add_sink(context.sink().clone());
        // The client was told that it listens before we did; what changed in between is told now.
        self.0.gate.refresh().await;
        if !Arc::ptr_eq(&before, &self.0.gate.registry()) {
            tell(context.sink()).await;
        }
        context.cancelled().await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.listeners.add_peer(context.peer);
    }
}

fn reader(context: &RequestContext<RoleServer>) -> Reader {
    Reader { principal: Principal::local(), cancel: context.ct.clone() }
}

pub fn identity() -> Implementation {
    let mut identity = Implementation::new("zipfs", env!("CARGO_PKG_VERSION"));
    identity.title = Some("zipfs".into());
    identity
}

/// Who answered, on every result of the stateless revision.
fn stamp(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    is_modern(context).then(|| {
        let mut meta = Map::new();
        meta.insert("io.modelcontextprotocol/serverInfo".into(), json!(identity()));
        MetaObject(meta)
    })
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
