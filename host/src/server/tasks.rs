//! Calls that go on after their answer: started as a call, asked for, given input and cancelled by number, forgotten in time.
//!
//! A task belongs to the principal that began it; for everybody else it is not there.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use rmcp::model::{CallToolResult, DetailedTask, ErrorData, InputRequests, Task, TaskPayload, TaskStatus};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config;

/// All tasks of a server.
pub struct Tasks {
    settings: config::Tasks,
    kept: Mutex<HashMap<String, Kept>>,
}

struct Kept {
    owner: String,
    task: Task,
    state: State,
    cancel: CancellationToken,
    /// Rung when an answer came.
    answered: Arc<Notify>,
    bytes: u64,
}

enum State {
    Working,
    Asking { open: InputRequests, answers: BTreeMap<String, Value> },
    Over(TaskPayload),
}

/// Held by whoever does the work of one task.
pub struct Ticket {
    hand: Hand,
    round: u32,
}

/// A way to say how a task stands.
#[derive(Clone)]
pub struct Hand {
    tasks: Weak<Tasks>,
    id: String,
}

impl Tasks {
    pub fn new(settings: config::Tasks) -> Arc<Tasks> {
        Arc::new(Tasks { settings, kept: Mutex::default() })
    }

    pub fn settings(&self) -> &config::Tasks {
        &self.settings
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins a task. `None` if there are too many.
    pub fn begin(self: &Arc<Tasks>, owner: &str, cancel: &CancellationToken) -> Option<(Task, Ticket)> {
        let id = uuid::Uuid::new_v4().to_string();
        let now = jiff::Timestamp::now().to_string();
        let mut task = Task::new(&id, TaskStatus::Working, &now, &now).with_ttl_ms(self.settings.ttl_ms);
        task.poll_interval_ms = Some(self.settings.poll_ms);
        {
            let mut kept = self.lock();
            let (mut going_on, mut own, mut own_going_on) = (0, 0, 0);
            for other in kept.values() {
                let (goes_on, is_own) = (!matches!(other.state, State::Over(_)), other.owner == owner);
                going_on += u32::from(goes_on);
                own += u32::from(is_own);
                own_going_on += u32::from(goes_on && is_own);
            }
            let limits = &self.settings;
            if going_on >= limits.most
                || own_going_on >= limits.most_of_one
                || kept.len() >= limits.most_kept as usize
                || own >= limits.most_kept_of_one
            {
                return None;
            }
            let entry = Kept {
                owner: owner.to_owned(),
                task: task.clone(),
                state: State::Working,
                cancel: cancel.clone(),
                answered: Arc::default(),
                bytes: 0,
            };
            kept.insert(id.clone(), entry);
        }
        let (tasks, ended) = (Arc::downgrade(self), id.clone());
        let ttl = Duration::from_millis(self.settings.ttl_ms);
        tokio::spawn(async move {
            tokio::time::sleep(ttl).await;
            let gone = tasks.upgrade().and_then(|tasks| tasks.lock().remove(&ended));
            if let Some(gone) = gone {
                gone.cancel.cancel();
            }
        });
        Some((task, Ticket { hand: Hand { tasks: Arc::downgrade(self), id }, round: 0 }))
    }

    /// How a task stands.
    pub fn get(&self, owner: &str, id: &str) -> Result<DetailedTask, ErrorData> {
        self.with(owner, id, |kept| {
            let payload = match &kept.state {
                State::Working => TaskPayload::Working,
                State::Asking { open, .. } => TaskPayload::InputRequired { input_requests: open.clone() },
                State::Over(payload) => payload.clone(),
            };
            DetailedTask::new(kept.task.clone(), payload)
        })
    }

    /// Gives answers. One that nobody asked for, or that came twice, is passed over.
    pub fn update(&self, owner: &str, id: &str, responses: BTreeMap<String, Value>) -> Result<(), ErrorData> {
        self.with(owner, id, |kept| {
            if let State::Asking { open, answers } = &mut kept.state {
                let before = open.len();
                for (name, value) in responses {
                    if open.remove(&name).is_some() {
                        answers.insert(name, value);
                    }
                }
                // Once: a second ring would be taken for the answers to the next questions.
                if before > 0 && open.is_empty() {
                    kept.answered.notify_one();
                }
                kept.touch();
            }
        })
    }

    /// Stops a task. One that is over stays as it is.
    pub fn cancel(&self, owner: &str, id: &str) -> Result<(), ErrorData> {
        self.with(owner, id, |kept| {
            if !matches!(kept.state, State::Over(_)) {
                kept.state = State::Over(TaskPayload::Cancelled);
                kept.touch();
            }
            kept.cancel.cancel();
        })
    }

    fn with<T>(&self, owner: &str, id: &str, then: impl FnOnce(&mut Kept) -> T) -> Result<T, ErrorData> {
        match self.lock().get_mut(id) {
            Some(kept) if kept.owner == owner => Ok(then(kept)),
            _ => Err(ErrorData::invalid_params(format!("Unknown task: {}", id.chars().take(64).collect::<String>()), None)),
        }
    }
}

impl Kept {
    fn touch(&mut self) {
        self.task.last_updated_at = jiff::Timestamp::now().to_string();
    }
}

impl Hand {
    /// Where it stands, for people.
    pub fn say(&self, message: String) {
        self.with(|kept| {
            kept.task.status_message = Some(message);
            kept.touch();
        });
    }

    fn with<T>(&self, then: impl FnOnce(&mut Kept) -> T) -> Option<T> {
        self.tasks.upgrade()?.lock().get_mut(&self.id).map(then)
    }
}

impl Ticket {
    pub fn hand(&self) -> Hand {
        self.hand.clone()
    }

    /// Asks the client, and waits for all answers. `None` if the task was cancelled or forgotten first.
    pub async fn ask(&mut self, requests: InputRequests) -> Option<BTreeMap<String, Value>> {
        if requests.is_empty() {
            return Some(BTreeMap::new());
        }
        // Names are never used twice in the life of a task.
        self.round += 1;
        let prefix = format!("{}-", self.round);
        let open = requests.into_iter().map(|(name, request)| (format!("{prefix}{name}"), request)).collect();
        let (answered, cancel) = self.hand.with(|kept| {
            if !matches!(kept.state, State::Over(_)) {
                kept.state = State::Asking { open, answers: BTreeMap::new() };
                kept.touch();
            }
            (kept.answered.clone(), kept.cancel.clone())
        })?;
        tokio::select! {
            () = cancel.cancelled() => return None,
            () = answered.notified() => {}
        }
        self.hand.with(|kept| match std::mem::replace(&mut kept.state, State::Working) {
            State::Asking { answers, .. } => {
                kept.touch();
                Some(answers.into_iter().map(|(name, value)| (name[prefix.len()..].to_owned(), value)).collect())
            }
            other => {
                kept.state = other;
                None
            }
        })?
    }

    /// The task is over. A result that is too large to be kept for later is a failure that says so.
    pub fn finish(self, ended: Result<CallToolResult, ErrorData>) {
        let Some(tasks) = self.hand.tasks.upgrade() else { return };
        let mut payload = match ended {
            Ok(result) => TaskPayload::Completed { result: object(json!(result)) },
            Err(error) => TaskPayload::Failed { error: object(json!(error)) },
        };
        let mut bytes = match &payload {
            TaskPayload::Completed { result } => json!(result).to_string().len() as u64,
            _ => 0,
        };
        let mut kept = tasks.lock();
        let held: u64 = kept.values().map(|kept| kept.bytes).sum();
        if held + bytes > tasks.settings.result_bytes {
            let error = ErrorData::internal_error(
                "The result is too large to be kept with those of other tasks (tasks.result_bytes). Ask for less, or without a task.",
                None,
            );
            (payload, bytes) = (TaskPayload::Failed { error: object(json!(error)) }, 0);
        }
        if let Some(kept) = kept.get_mut(&self.hand.id).filter(|kept| !matches!(kept.state, State::Over(_))) {
            (kept.state, kept.bytes) = (State::Over(payload), bytes);
            kept.touch();
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_is_there_only_for_whoever_began_it() {
        let tasks = Tasks::new(config::Tasks::default());
        let cancel = CancellationToken::new();
        let (task, ticket) = tasks.begin("ada", &cancel).unwrap();
        let id = task.task_id.as_str();
        assert!(
            tasks.get("eve", id).is_err() && tasks.cancel("eve", id).is_err() && tasks.update("eve", id, BTreeMap::new()).is_err()
        );
        assert!(!cancel.is_cancelled());
        tasks.cancel("ada", id).unwrap();
        assert!(cancel.is_cancelled());
        // What comes after the end does not change it.
        ticket.finish(Ok(CallToolResult::success(Vec::new())));
        assert_eq!(tasks.get("ada", id).unwrap().status(), TaskStatus::Cancelled);
    }

    #[tokio::test]
    async fn there_is_an_end_to_tasks() {
        let limits = config::Tasks { most: 3, most_of_one: 2, most_kept: 5, most_kept_of_one: 3, ..config::Tasks::default() };
        let tasks = Tasks::new(limits);
        let cancel = CancellationToken::new();
        let begin = |owner: &str| tasks.begin(owner, &cancel);
        let (first, _) = begin("ada").unwrap();
        let (second, _) = begin("ada").unwrap();
        assert!(begin("ada").is_none(), "two of hers go on");
        let (third, _) = begin("eve").unwrap();
        assert!(begin("bob").is_none(), "three go on");
        for (owner, task) in [("ada", &first), ("ada", &second), ("eve", &third)] {
            tasks.cancel(owner, &task.task_id).unwrap();
        }
        begin("ada").unwrap();
        assert!(begin("ada").is_none(), "three of hers are kept");
        begin("bob").unwrap();
        assert!(begin("eve").is_none(), "five are kept");
    }
}
