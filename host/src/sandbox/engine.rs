//! The one engine of the process, its linker, and the gate that bounds how many calls run at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Enabled, Engine, PoolingAllocationConfig, Result};

use super::clock::Ticker;
use super::compiled::{CodePages, RUNS_IN_PLACE};
use super::engine_config::compile_config;
use super::guest::Guest;
use super::imports;
use super::limits::Lane;
use crate::config::CallLimits;

/// What the process is: it decides how instances get their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Many calls: memory is reserved once and reused, which makes an instance three times cheaper.
    Server,
    /// One call: reserving would cost more than it saves.
    Command,
}

/// Runs guests.
pub struct Sandbox {
    pub(super) engine: Engine,
    pub(super) linker: Linker<Guest>,
    pub(super) ticker: Ticker,
    slots: Arc<Semaphore>,
    driver_slots: Arc<Semaphore>,
    part_slots: Arc<Semaphore>,
    pub(super) calls: CallLimits,
}

impl Sandbox {
    pub fn new(shape: Shape, calls: &CallLimits) -> Result<Sandbox> {
        let engine = make_engine(shape, calls)?;
        let mut linker = Linker::new(&engine);
        imports::add_to_linker(&mut linker)?;
        let ticker = Ticker::start(engine.clone())?;
        let slots = Arc::new(Semaphore::new(calls.concurrent as usize));
        let driver_slots = Arc::new(Semaphore::new(DRIVERS as usize));
        let part_slots = Arc::new(Semaphore::new(PARTS as usize));
        Ok(Sandbox { engine, linker, ticker, slots, driver_slots, part_slots, calls: calls.clone() })
    }

    /// The places that bound how many guests run at once.
    pub(super) fn places(&self, lane: Lane) -> Arc<Semaphore> {
        match lane {
            Lane::Calls => self.slots.clone(),
            Lane::Drivers => self.driver_slots.clone(),
            Lane::Parts => self.part_slots.clone(),
        }
    }

    /// Calls that have a place now.
    pub fn running(&self) -> usize {
        (self.calls.concurrent as usize).saturating_sub(self.slots.available_permits())
    }

    pub fn limits(&self) -> &CallLimits {
        &self.calls
    }
}

/// Instances of the archive driver that run besides the calls.
const DRIVERS: u32 = 16;

/// Instances that do parts of calls.
const PARTS: u32 = 16;

fn make_engine(shape: Shape, calls: &CallLimits) -> Result<Engine> {
    let mut config = compile_config();
    if RUNS_IN_PLACE {
        config.with_custom_code_memory(Some(Arc::new(CodePages)));
    }
    // A stack that one guest used is given to another: nothing of the first may be in it.
    config.async_stack_zeroing(true);
    if shape == Shape::Server {
        let instances = calls.concurrent + DRIVERS + PARTS;
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(instances)
            .total_core_instances(instances * 8)
            .total_memories(instances * 2)
            .total_tables(instances * 8)
            .total_stacks(instances)
            .max_memory_size(1 << 30)
            .table_elements(usize::try_from(calls.table_elements).unwrap_or(usize::MAX))
            .linear_memory_keep_resident(256 << 10)
            .table_keep_resident(256 << 10)
            // What a short call touches of its stack is cleared in place instead of being given back and faulted in again.
            .async_stack_keep_resident(32 << 10)
            .pagemap_scan(Enabled::Auto);
        let mut pooled = config.clone();
        pooled.allocation_strategy(pool);
        match Engine::new(&pooled) {
            Ok(engine) => return Ok(engine),
            // The pool reserves address space, which `ulimit -v` may forbid. Slower is better than not at all.
            Err(error) => tracing::debug!(%error, "no memory pool; instances get their memory one by one"),
        }
    }
    Engine::new(&config)
}
