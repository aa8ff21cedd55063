//! One `tools/call`, from the wire to the gate and back: asked in between what the tool wants to know, and made a task if it takes
//! long and the client knows tasks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData, RequestStateCodec,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::events::Forwarder;
use super::handler::{Handler, client_of, is_modern, protocol_error};
use super::input;
use super::relief::Relief;
use super::tasks::Ticket;
use super::wire;
use crate::failure::{Class, Failure, Shape};
use crate::gate::{Answer, Audience, Call, Gate, Origin, Principal, Question, Refusal};
use crate::sandbox::bindings::types::Resumption;
use crate::sandbox::guest::{Client, Event};

/// What is said of the name of a tool that there is not.
const MOST_NAME: usize = 128;

/// What every entry into one call has in common.
struct Calling {
    gate: Arc<Gate>,
    tool: String,
    arguments: Map<String, Value>,
    principal: Principal,
    only: Option<Arc<str>>,
    client: Client,
    events: Option<UnboundedSender<Event>>,
    cancel: CancellationToken,
    origin: Origin,
}

/// What one entry came to.
enum End {
    Result(CallToolResult),
    /// A fault of the plugin or the host, in the words for a client that waits; a task has other words for it.
    Broken(CallToolResult, ErrorData),
    Refused(ErrorData),
    Question(Question),
}

/// Whether calls of a tool become tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskUse {
    WhenLong,
    Always,
    Required,
    Never,
}

impl Handler {
    /// Answers a call.
    pub(super) async fn run(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (principal, origin) = (self.principal(context)?, self.origin(context));
        let tool = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        // An answer given for one call is no answer for another, nor for another caller's.
        let about = format!("{} {tool} {}", principal.id, json!(arguments));
        let resumed = input::resumption(self.codec(), &about, request.input_responses, request.request_state);
        let resumed = resumed.map_err(|why| {
            let failure = Failure::invalid(why);
            self.refuse(&principal, &origin, &tool, &failure, ErrorData::invalid_params(failure.message.clone(), None))
        })?;
        let knows_tasks = context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        let task = self.task_use(&tool).await;
        if task == TaskUse::Required && !knows_tasks {
            let failure = Failure::new(Class::Forbidden, "CLIENT_CANNOT_ANSWER", "The tool needs a client that knows tasks.");
            let needed = ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_tasks().build());
            return Err(self.refuse(&principal, &origin, &tool, &failure, needed));
        }
        let (events, forwarder) = Forwarder::start(&context.peer, self.wanted(context));
        let calling = Calling {
            gate: self.gate().clone(),
            tool,
            arguments,
            principal,
            only: self.only(),
            client: client_of(context),
            events,
            cancel: context.ct.clone(),
            origin,
        };
        let answered = match knows_tasks && task != TaskUse::Never {
            true => self.run_as_task(calling, &about, resumed, task, context).await,
            false => calling.converse(self, &about, resumed, context).await,
        };
        if let Some(forwarder) = forwarder {
            forwarder.finish().await;
        }
        answered
    }

    /// What the tool says of itself; for one that is not there it does not matter.
    async fn task_use(&self, tool: &str) -> TaskUse {
        let mut found = self.gate().registry().find(tool);
        if found.is_none() {
            // It may be of a plugin that was just added.
            self.gate().refresh().await;
            found = self.gate().registry().find(tool);
        }
        let word = found.as_ref().and_then(|found| found.tool().meta.as_ref()?.get("zipfs/task")?.as_str());
        match word {
            Some("always") => TaskUse::Always,
            Some("required") => TaskUse::Required,
            Some("never") => TaskUse::Never,
            _ => TaskUse::WhenLong,
        }
    }

    /// Runs the call where it can outlive its request, and answers with a task if it does.
    async fn run_as_task(
        &self,
        mut calling: Calling,
        about: &str,
        resumed: Option<Resumption>,
        task: TaskUse,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tasks = self.tasks();
        // The end of the request ends the call only as long as the request is what waits for it.
        let cancel = CancellationToken::new();
        let stop = cancel.clone().drop_guard();
        calling.cancel = cancel.clone();
        let relay = Arc::new(Mutex::new(Relay::Client(calling.events.take())));
        let (sender, relaying) = Relay::start(relay.clone());
        calling.events = Some(sender);
        let (principal, client) = (calling.principal.clone(), calling.client.clone());
        let mut running = calling.enter_elsewhere(resumed);
        let patience = match task {
            TaskUse::Always | TaskUse::Required => Duration::ZERO,
            _ => Duration::from_millis(tasks.settings().after_ms),
        };
        let ended = tokio::select! {
            biased;
            ended = &mut running, if !patience.is_zero() => Some(ended),
            () = context.ct.cancelled() => None,
            () = tokio::time::sleep(patience) => match tasks.begin(&principal.id, &cancel) {
                Some((seed, ticket)) => {
                    // Nothing may follow the answer on its way.
                    Relay::detach(&relay, ticket.hand());
                    tokio::spawn(go_on(running, ticket, relay));
                    stop.disarm();
                    return Ok(CallToolResponse::Task(CreateTaskResult::new(seed)));
                }
                // Too many: the client waits, as one that knows no tasks.
                None => tokio::select! {
                    ended = &mut running => Some(ended),
                    () = context.ct.cancelled() => None,
                },
            },
        };
        let Some(ended) = ended else {
            cancel.cancel();
            let _ = running.await;
            Relay::silence(&relay);
            return Err(ErrorData::internal_error("The call was cancelled.", None));
        };
        let end = ended.map(|(_, end)| end);
        // What was said in the call comes before its answer.
        let _ = relaying.await;
        Relay::silence(&relay);
        let end = end.map_err(broken_down)?;
        match end {
            End::Question(question) => as_question(self.codec(), about, &client, question),
            end => end.answer(),
        }
    }
}

fn broken_down(error: tokio::task::JoinError) -> ErrorData {
    ErrorData::internal_error(format!("The call broke down: {error}."), None)
}

/// An entry that runs by itself, and gives back what the next one needs.
type Running = tokio::task::JoinHandle<(Calling, End)>;

impl Calling {
    fn enter_elsewhere(mut self, resumed: Option<Resumption>) -> Running {
        tokio::spawn(async move {
            let end = self.enter(resumed).await;
            (self, end)
        })
    }

    /// Enters here, or on another thread if one is lent.
    async fn enter_relieved(mut self, relief: Option<&Relief>, resumed: Option<Resumption>) -> Result<(Calling, End), ErrorData> {
        let entering = async move {
            let end = self.enter(resumed).await;
            (self, end)
        };
        match relief {
            Some(relief) => relief.run(entering).await.map_err(broken_down),
            None => Ok(entering.await),
        }
    }

    /// Goes through the gate once.
    async fn enter(&mut self, resumed: Option<Resumption>) -> End {
        let call = Call {
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            principal: self.principal.clone(),
            only: self.only.clone(),
            origin: self.origin.clone(),
            resumed,
            audience: Audience { events: self.events.clone(), client: self.client.clone() },
            cancel: self.cancel.clone(),
        };
        self.origin.round += 1;
        match self.gate.call(call).await {
            Ok(Answer::Complete(outcome)) => End::Result(wire::outcome(outcome)),
            Ok(Answer::InputRequired(_)) if self.origin.round as usize > input::MOST_ROUNDS => {
                End::Result(wire::failure(&Failure::limit("The tool asks without end."), Shape::default()))
            }
            Ok(Answer::InputRequired(question)) => End::Question(question),
            // The caller knows what it asked for; a megabyte of it need not go back, nor into logs.
            Err(Refusal::UnknownTool(name)) => {
                let name: String = name.chars().take(MOST_NAME).collect();
                End::Refused(ErrorData::invalid_params(format!("Unknown tool: {name}"), None))
            }
            Err(Refusal::Failed { failure, shape }) if failure.class == Class::Internal => {
                End::Broken(wire::failure(&failure, shape), protocol_error(failure))
            }
            Err(Refusal::Failed { failure, shape }) => End::Result(wire::failure(&failure, shape)),
        }
    }

    /// Enters until there is an answer: clients of the stateless revision get questions as the result, older ones are asked here.
    async fn converse(
        self,
        handler: &Handler,
        about: &str,
        mut resumed: Option<Resumption>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut calling = self;
        loop {
            let (entered, end) = calling.enter_relieved(handler.relief.as_deref(), resumed.take()).await?;
            calling = entered;
            let question = match end {
                End::Question(question) => question,
                end => return end.answer(),
            };
            if is_modern(context) {
                return as_question(handler.codec(), about, &calling.client, question);
            }
            let asked = match input::check_abilities(&question, &calling.client) {
                Ok(()) => input::ask(context, question).await,
                Err(lacking) => Err(lacking.failure()),
            };
            match asked {
                Ok(answers) => resumed = Some(answers),
                Err(failure) => return Ok(wire::failure(&failure, Shape::default()).into()),
            }
        }
    }
}

impl End {
    fn answer(self) -> Result<CallToolResponse, ErrorData> {
        match self {
            End::Result(result) | End::Broken(result, _) => Ok(result.into()),
            End::Refused(error) => Err(error),
            End::Question(_) => Err(ErrorData::internal_error("A question was left over.", None)),
        }
    }
}

/// The question as the result of a call. What the client has no way to answer is not asked.
fn as_question(codec: &RequestStateCodec, about: &str, client: &Client, question: Question) -> Result<CallToolResponse, ErrorData> {
    input::check_abilities(&question, client).map_err(|lacking| lacking.error())?;
    match input::as_result(codec, about, question) {
        Ok(result) => Ok(result.into()),
        Err(failure) => Ok(wire::failure(&failure, Shape::default()).into()),
    }
}

/// The life of a task, after its request was answered.
async fn go_on(mut running: Running, mut ticket: Ticket, relay: Arc<Mutex<Relay>>) {
    let ended = loop {
        let (calling, end) = match running.await {
            Ok(ended) => ended,
            Err(error) => break Err(broken_down(error)),
        };
        let question = match end {
            End::Result(result) => break Ok(result),
            End::Broken(_, error) | End::Refused(error) => break Err(error),
            End::Question(question) => question,
        };
        if let Err(lacking) = input::check_abilities(&question, &calling.client) {
            break Err(lacking.error());
        }
        let (requests, state) = match input::requests(question) {
            Ok(requests) => requests,
            Err(failure) => break Err(protocol_error(failure)),
        };
        let Some(answers) = ticket.ask(requests).await else {
            break Err(ErrorData::internal_error("The task was cancelled.", None));
        };
        running = calling.enter_elsewhere(Some(Resumption { answers: input::answers(answers), state }));
    };
    Relay::silence(&relay);
    ticket.finish(ended);
}

/// Where the events of a call go that may become a task.
enum Relay {
    Client(Option<UnboundedSender<Event>>),
    Task(super::tasks::Hand),
    Nobody,
}

impl Relay {
    fn start(relay: Arc<Mutex<Relay>>) -> (UnboundedSender<Event>, tokio::task::JoinHandle<()>) {
        let (sender, mut events) = unbounded_channel();
        let relaying = tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match (&*lock(&relay), event) {
                    (Relay::Client(Some(client)), event) => drop(client.send(event)),
                    (Relay::Task(hand), Event::Progress { done, total, message }) => hand.say(progress(done, total, message)),
                    _ => {}
                }
            }
        });
        (sender, relaying)
    }

    fn detach(relay: &Mutex<Relay>, hand: super::tasks::Hand) {
        *lock(relay) = Relay::Task(hand);
    }

    /// Also lets go of the client's channel, which is waited for.
    fn silence(relay: &Mutex<Relay>) {
        *lock(relay) = Relay::Nobody;
    }
}

fn lock(relay: &Mutex<Relay>) -> std::sync::MutexGuard<'_, Relay> {
    relay.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn progress(done: f64, total: Option<f64>, message: Option<String>) -> String {
    let far = match total {
        Some(total) if total > 0.0 => format!("{:.0} %", done / total * 100.0),
        _ => format!("{done}"),
    };
    message.map_or(far.clone(), |message| format!("{message} ({far})"))
}
