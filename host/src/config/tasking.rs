//! Calls that become tasks: when, how many, and for how long they are kept.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tasks {
    /// A call that takes longer becomes a task, if the client knows tasks. Shorter than the patience of any client.
    pub after_ms: u64,
    /// Tasks that go on at the same time, of everybody. A call beyond it is answered when it ends.
    /// Test: `server::tasks::there_is_an_end_to_tasks`.
    pub most: u32,
    /// The same, of one principal: nobody takes all the places. Test: `protocol::tasks::tasks_are_bounded`.
    pub most_of_one: u32,
    /// Tasks of everybody that are kept, those that are over included: they wait to be asked for until their time is up.
    /// Test: `server::tasks::there_is_an_end_to_tasks`.
    pub most_kept: u32,
    /// The same, of one principal.
    pub most_kept_of_one: u32,
    /// How long a task lives from its beginning; then it is stopped and forgotten. Test: `protocol::tasks::a_task_ends_with_its_time`.
    pub ttl_ms: u64,
    /// Bytes that the results of all tasks may have while they wait to be fetched. Test: `protocol::tasks::results_are_bounded`.
    pub result_bytes: u64,
    /// How often clients are told to ask.
    pub poll_ms: u64,
}

impl Default for Tasks {
    fn default() -> Self {
        Tasks {
            after_ms: 3_000,
            most: 64,
            most_of_one: 16,
            most_kept: 1024,
            most_kept_of_one: 256,
            ttl_ms: 600_000,
            result_bytes: 64 << 20,
            poll_ms: 500,
        }
    }
}
