//! What one instance may use of memory and processor, and which of it ran out.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{ResourceLimiter, Result};

use super::clock::TICK;
use super::timings::Timings;
use crate::config::CallLimits;

/// Whose turn it is waited for. A call that opens an archive waits for the driver, and one that shares its work for the parts, while it
/// holds its own place, so they must not queue for the same places. Test: `limits::results::opening_works_with_one_place_for_calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Calls,
    Drivers,
    Parts,
}

/// The limits of one call.
#[derive(Debug, Clone)]
pub struct Limits {
    pub lane: Lane,
    pub deadline: Duration,
    /// Which setting that is, for the message.
    pub deadline_setting: &'static str,
    pub cpu: Duration,
    pub memory_bytes: usize,
    pub table_elements: usize,
    pub handles: u32,
    pub output_bytes: usize,
    pub result_bytes: usize,
}

impl Limits {
    /// For a tool, resource or prompt. Calls that work on whole sessions get the longer deadline.
    pub fn of_call(calls: &CallLimits, works_on_sessions: bool) -> Limits {
        Limits {
            lane: Lane::Calls,
            deadline: Duration::from_millis(if works_on_sessions { calls.session_deadline_ms } else { calls.deadline_ms }),
            deadline_setting: if works_on_sessions { "calls.session_deadline_ms" } else { "calls.deadline_ms" },
            cpu: Duration::from_millis(calls.cpu_ms),
            memory_bytes: usize::try_from(calls.memory_bytes).unwrap_or(usize::MAX),
            table_elements: usize::try_from(calls.table_elements).unwrap_or(usize::MAX),
            handles: calls.handles,
            output_bytes: usize::try_from(calls.output_bytes).unwrap_or(usize::MAX),
            result_bytes: usize::try_from(calls.result_bytes).unwrap_or(usize::MAX),
        }
    }

    /// For a part of a call: the same, in the time that the call has left.
    pub fn of_part(call: &Limits, spent: Duration) -> Limits {
        Limits { lane: Lane::Parts, deadline: call.deadline.saturating_sub(spent), ..call.clone() }
    }

    /// For a plugin that describes itself: it has nothing to do but to answer. Test: `security::admission::spin_in_describe_is_refused`.
    pub fn of_describe(calls: &CallLimits) -> Limits {
        let most = Duration::from_secs(2);
        let call = Limits::of_call(calls, false);
        Limits { deadline: call.deadline.min(most), cpu: call.cpu.min(most), ..call }
    }

    /// For the archive driver. A listing of 100,000 entries needs more memory than tools get, and inflating takes its time.
    pub fn of_driver(calls: &CallLimits) -> Limits {
        let deadline = Duration::from_millis(calls.session_deadline_ms);
        Limits { lane: Lane::Drivers, deadline, cpu: deadline, memory_bytes: 256 << 20, ..Limits::of_call(calls, true) }
    }
}

/// Counts what an instance uses, and remembers what it was refused.
#[derive(Debug)]
pub struct Meter {
    memory_bytes: usize,
    table_elements: usize,
    cpu_ticks: u64,
    most_ticks: u64,
    pub exceeded: Option<Exceeded>,
    timings: Arc<Timings>,
    held: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    #[error("memory")]
    Memory,
    #[error("table elements")]
    Tables,
    #[error("processor time")]
    Cpu,
}

impl Meter {
    pub fn new(limits: &Limits, timings: Arc<Timings>) -> Meter {
        Meter {
            memory_bytes: limits.memory_bytes,
            table_elements: limits.table_elements,
            cpu_ticks: 0,
            most_ticks: limits.cpu.as_millis() as u64 / TICK.as_millis() as u64,
            exceeded: None,
            timings,
            held: 0,
        }
    }

    /// Called for each tick in which the guest was found running.
    pub fn tick(&mut self) -> Result<(), Exceeded> {
        self.cpu_ticks += 1;
        if self.cpu_ticks > self.most_ticks {
            self.exceeded = Some(Exceeded::Cpu);
            return Err(Exceeded::Cpu);
        }
        Ok(())
    }
}

/// One component has one memory and a few tables; these are the bounds for those that have more.
const MOST_INSTANCES: usize = 32;
const MOST_MEMORIES: usize = 4;
const MOST_TABLES: usize = 16;

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let fits = desired <= self.memory_bytes;
        if fits {
            self.held += desired.saturating_sub(current) as u64;
            self.timings.grew(self.held);
        } else {
            self.exceeded = Some(Exceeded::Memory);
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let fits = desired <= self.table_elements;
        if !fits {
            self.exceeded = Some(Exceeded::Tables);
        }
        Ok(fits)
    }

    fn instances(&self) -> usize {
        MOST_INSTANCES
    }

    fn memories(&self) -> usize {
        MOST_MEMORIES
    }

    fn tables(&self) -> usize {
        MOST_TABLES
    }
}
