//! Plugins in motion: one engine, a fresh store for each call, and nothing in it that the call was not given.
//!
//! Read [`run`] for the life of a call, [`guest`] for what an instance holds, [`imports`] for what it can ask of the host.

pub mod archives;
pub mod bindings;
pub mod capability;
pub mod changing;
pub mod clock;
pub mod compiled;
pub mod driver;
pub mod egress;
pub mod engine;
pub mod engine_config;
pub mod exports;
pub mod guarded_fs;
pub mod guest;
pub mod imports;
pub mod incoming;
pub mod limits;
pub mod metered;
pub mod parallel;
pub mod plain_reads;
pub mod run;
pub mod timings;
pub mod typed;
pub mod uses;
pub mod wasmcp;
pub mod witness;

pub use capability::Capability;
pub use compiled::Compiled;
pub use engine::{Sandbox, Shape};
pub use guest::{CallContext, Mount};
