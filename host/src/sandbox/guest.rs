//! What one instance holds: the state behind every import it can call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cap_std::fs::Dir;
use tokio::sync::broadcast;
use tokio::sync::mpsc::UnboundedSender;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::capability::Capability;
use super::egress::Egress;
use super::imports::endpoints::Endpoints;
use super::imports::http::HttpState;
use super::imports::secrets::NamedSecret;
use super::limits::{Limits, Meter};
use super::parallel::Crew;
use super::timings::Timings;
use super::uses::Uses;
use super::witness::{Reach, Witness};
use crate::sandbox::archives::SessionHost;
use crate::sandbox::imports::progress::Reported;
use crate::workspace::original::Originals;
use crate::workspace::quota::Allowance;
use crate::workspace::{Owner, Workspace};

/// The one directory of a guest, at `/workspace`.
pub struct Mount {
    pub dir: Dir,
    /// Where files are prepared before they take their place; without it, beside that place. Only for `files`.
    pub tmp: Option<Dir>,
    /// What may still be written; `None` mounts it read-only.
    pub allowance: Option<Arc<Mutex<Allowance>>>,
}

impl Mount {
    pub fn read_only(dir: Dir) -> Mount {
        Mount { dir, tmp: None, allowance: None }
    }

    pub fn writable(dir: Dir, tmp: Option<Dir>, allowance: Allowance) -> Mount {
        Mount { dir, tmp, allowance: Some(Arc::new(Mutex::new(allowance))) }
    }
}

/// A directory of the host that a person granted, besides the workspace.
pub struct Directory {
    pub dir: Dir,
    /// Where the guest finds it.
    pub guest_path: String,
    /// What may be written; `None` mounts it read-only.
    pub allowance: Option<Arc<Mutex<Allowance>>>,
}

/// What a call was granted besides its workspace, ready for use.
#[derive(Default)]
pub struct Equipment {
    pub directories: Vec<Directory>,
    pub environment: Vec<(String, String)>,
    pub secrets: Vec<NamedSecret>,
    pub egress: Option<Arc<Egress>>,
    pub endpoints: Option<Arc<Endpoints>>,
    /// Kinds and names, for guests that ask.
    pub given: Vec<(&'static str, String)>,
}

/// What a call brings along: who listens, and what it was given.
#[derive(Default)]
pub struct CallContext {
    pub mount: Option<Mount>,
    pub equipment: Equipment,
    /// What it used of that, and what it was refused.
    pub uses: Arc<Uses>,
    pub capabilities: Vec<Capability>,
    /// Whether the tool counts as one that changes nothing, and is held to it.
    pub read_only: bool,
    /// On whose behalf sessions are looked at and opened.
    pub owner: Owner,
    /// The session the call was made for, locked.
    pub workspace: Option<Workspace>,
    /// Absent where nobody could use it: when a plugin describes itself, and for drivers.
    pub sessions: Option<Arc<SessionHost>>,
    pub events: Option<UnboundedSender<Event>>,
    /// Who does parts of its work, for the call of a tool.
    pub crew: Option<Crew>,
    pub client: Client,
    /// Whose lines these are, for the log.
    pub label: Arc<str>,
    pub timings: Arc<Timings>,
    /// Who takes notes, if an author wants to know what a plugin reaches for.
    pub witness: Option<Arc<Witness>>,
    /// Where it is said that what the plugin offers changed.
    pub changes: Option<Changes>,
}

/// Something that a plugin offers is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
    Resources,
    /// What one resource holds, by its URI.
    Resource(String),
}

/// The way of one plugin to those who listen.
#[derive(Clone)]
pub struct Changes {
    pub plugin: Arc<str>,
    pub listeners: broadcast::Sender<(Arc<str>, Change)>,
}

impl Changes {
    pub fn send(&self, change: Change) {
        // Nobody may be listening.
        let _ = self.listeners.send((self.plugin.clone(), change));
    }
}

/// What the far end of a call can do.
#[derive(Debug, Clone, Default)]
pub struct Client {
    pub elicitation: bool,
    pub sampling: bool,
    pub roots: bool,
    /// Revision of the protocol; empty if there is none.
    pub revision: String,
}

/// Something a running call has to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Progress { done: f64, total: Option<f64>, message: Option<String> },
    Log { level: LogLevel, message: String },
}

/// As in syslog, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// The data of a store.
pub struct Guest {
    wasi: WasiCtx,
    pub table: ResourceTable,
    pub meter: Meter,
    pub call: CallContext,
    pub limits: Limits,
    pub began: Instant,
    /// Both streams of the guest end here, never in ours.
    pub output: MemoryOutputPipe,
    /// Bytes that log lines may still have.
    pub log_left: usize,
    pub reported: Reported,
    pub announced: Vec<Change>,
    /// Which of the granted directories an open file or directory is in. Empty for guests that have none.
    pub places: HashMap<u32, usize>,
    pub http: HttpState,
    /// The directory of the file that the call has hold of.
    pub holding: Option<(u64, u64)>,
    /// What the archive of the call's session holds, once it was asked for.
    pub originals: Option<Originals>,
}

impl Guest {
    pub fn new(call: CallContext, limits: &Limits) -> Guest {
        let output = MemoryOutputPipe::new(limits.output_bytes);
        let mut builder = WasiCtxBuilder::new();
        // File calls run on the calling thread: handing each to another costs ten times the call.
        builder.allow_blocking_current_thread(true);
        builder.stdout(output.clone()).stderr(output.clone());
        builder.envs(&call.equipment.environment);
        // A guest could ask for gigabytes in one call. Test: `security::hostile::random_huge`.
        builder.max_random_size(64 << 10);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles as usize);
        Guest {
            wasi: builder.build(),
            table,
            meter: Meter::new(limits, call.timings.clone()),
            log_left: limits.output_bytes,
            output,
            limits: limits.clone(),
            began: Instant::now(),
            places: HashMap::new(),
            http: HttpState::new(call.equipment.egress.clone(), call.uses.clone(), call.witness.clone()),
            call,
            reported: Reported::default(),
            announced: Vec::new(),
            holding: None,
            originals: None,
        }
    }

    pub fn has(&self, capability: Capability) -> bool {
        self.note(|| Reach::Capability(capability.name()));
        self.call.capabilities.contains(&capability)
    }

    /// Tells the witness, if there is one.
    pub fn note(&self, reach: impl FnOnce() -> Reach) {
        if let Some(witness) = &self.call.witness {
            witness.saw(reach());
        }
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
