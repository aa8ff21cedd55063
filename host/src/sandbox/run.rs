//! One call of one guest, from a fresh store to an answer or a coded failure.
//!
//! A call starts on the thread that brought it: most are over before the first tick, and handing them to another thread would
//! cost more than they do. One that is not, moves to a thread of its own, where it is raced against its deadline and against
//! cancellation. Dropping the future drops the store, and with it everything the guest had.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::component::ResourceTableError;
use wasmtime::{Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

use super::engine::Sandbox;
use super::guest::{CallContext, Guest};
use super::limits::{Exceeded, Limits};
use crate::failure::{Class, Failure};

/// How much longer than its deadline a call may take to be told so, if its thread is held in the kernel.
const GRACE: Duration = Duration::from_millis(50);

/// The store that a guest's future works on, boxed so that it can move to another thread in the middle of a call.
type Work<T> = Pin<Box<dyn Future<Output = (Store<Guest>, wasmtime::Result<T>)> + Send>>;

impl Sandbox {
    /// Runs `work` on a fresh store. It gets the store, and gives it back with its result.
    pub async fn run<T, W>(
        &self,
        call: CallContext,
        limits: &Limits,
        cancel: &CancellationToken,
        work: impl FnOnce(Store<Guest>) -> W,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        W: Future<Output = (Store<Guest>, wasmtime::Result<T>)> + Send + 'static,
    {
        let deadline = Instant::now() + limits.deadline;
        call.timings.asked();
        let slot = tokio::select! {
            slot = self.places(limits.lane).acquire_owned() => slot.map_err(|_| Failure::internal("The host is shutting down."))?,
            () = cancel.cancelled() => return Err(cancelled()),
            () = tokio::time::sleep_until(deadline) => {
                return Err(Failure::new(Class::Busy, "BUSY", "Too many calls are running (calls.concurrent).").suggest("Try again."));
            }
        };
        call.timings.placed();
        let running = self.ticker.enter();
        let mut store = Store::new(&self.engine, Guest::new(call, limits));
        store.limiter(|guest| &mut guest.meter);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            store.data_mut().meter.tick()?;
            Ok(UpdateDeadline::Yield(1))
        });
        // Bounds what one hostcall or one answer can make the host allocate. Test: `security::hostile::flood_result`.
        store.set_hostcall_fuel(limits.result_bytes.max(limits.memory_bytes / 2));
        store.set_max_component_handles(limits.handles as usize * 4);

        let work: Work<T> = Box::pin(work(store));
        let ended = race(work, (deadline, limits.deadline_setting), cancel, (slot, running)).await?;
        let (store, result) = ended;
        let mut guest = store.into_data();
        report_output(&guest);
        if let Some(witness) = &guest.call.witness {
            witness.saw_memory(guest.call.timings.spent(std::time::Instant::now()).memory);
        }
        result.map_err(|error| explain(&error, &mut guest))
    }
}

/// Polls once here; goes on elsewhere if that was not enough.
async fn race<T: Send + 'static>(
    mut work: Work<T>,
    (deadline, setting): (Instant, &'static str),
    cancel: &CancellationToken,
    held: impl Send + 'static,
) -> Result<(Store<Guest>, wasmtime::Result<T>), Failure> {
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    let first = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    if let Poll::Ready(ended) = first {
        return Ok(ended);
    }
    let runtime = tokio::runtime::Handle::current();
    let stop = cancel.clone();
    let elsewhere = tokio::task::spawn_blocking(move || {
        // What bounds the number of calls is held until the guest is really gone.
        let _held = held;
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(cancelled()),
                () = tokio::time::sleep_until(deadline) => Err(timed_out(setting)),
                ended = work => Ok(ended),
            }
        })
    });
    tokio::select! {
        joined = elsewhere => joined.unwrap_or_else(|error| Err(Failure::internal(format!("The call broke down: {error}.")))),
        // The guest is in a system call that does not return. The caller gets its answer; the thread ends when the kernel lets it.
        () = tokio::time::sleep_until(deadline + GRACE) => {
            tracing::warn!("a call is stuck in the kernel past its deadline");
            Err(timed_out(setting))
        }
        () = async { cancel.cancelled().await; tokio::time::sleep(GRACE).await } => Err(cancelled()),
    }
}

fn timed_out(setting: &str) -> Failure {
    Failure::new(Class::Timeout, "TIMEOUT", format!("The tool did not finish in time ({setting})."))
        .suggest("Ask for less at once, or raise the limit.")
}

/// What the details of a failure say if it is the plugin that is at fault, and not its arguments or the host.
pub const BREAKDOWN: &str = "plugin";

/// The client does not want the answer any more.
pub fn cancelled() -> Failure {
    Failure::new(Class::Timeout, "CANCELLED", "The call was cancelled.")
}

/// What a guest printed belongs into the log, whoever it thought would read it.
fn report_output(guest: &Guest) {
    let bytes = guest.output.contents();
    if !bytes.is_empty() {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
        tracing::debug!(plugin = &*guest.call.label, bytes = bytes.len(), "guest output: {}", text.escape_debug());
    }
}

/// Which limit was passed, or how the guest broke.
fn explain(error: &wasmtime::Error, guest: &mut Guest) -> Failure {
    let plugin = guest.call.label.clone();
    let limits = &guest.limits;
    match guest.meter.exceeded {
        Some(Exceeded::Cpu) => {
            return timed_out("calls.cpu_ms").details(serde_json::json!({"cpu_ms": limits.cpu.as_millis() as u64}));
        }
        Some(Exceeded::Memory) => {
            return Failure::limit(format!(
                "The tool needs more than {} bytes of memory (calls.memory_bytes).",
                limits.memory_bytes
            ));
        }
        Some(Exceeded::Tables) => return Failure::limit("The tool needs larger tables than it may have (calls.table_elements)."),
        None => {}
    }
    let refused = guest
        .call
        .mount
        .as_ref()
        .and_then(|mount| mount.allowance.as_ref())
        .is_some_and(|allowance| allowance.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).was_refused());
    if refused {
        return Failure::limit("The session's quota is full (security.max_extracted_size_bytes, security.max_file_count).")
            .suggest("Delete files that are not needed, or raise the limit.");
    }
    let text = format!("{error:#}");
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) || text.contains("handle limit exceeded") {
        return Failure::limit(format!("The tool holds more than {} files and streams open (calls.handles).", limits.handles));
    }
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return too_large(limits.result_bytes);
    }
    tracing::warn!(plugin = &*plugin, "a guest failed: {text}");
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return Failure::internal(format!("The plugin `{plugin}` ended itself with exit code {code} instead of answering."))
            .details(serde_json::json!({"fault": BREAKDOWN}));
    }
    let why = match error.downcast_ref() {
        Some(Trap::StackOverflow) => "ran out of stack".to_owned(),
        Some(Trap::MemoryOutOfBounds) => "touched memory it does not have".to_owned(),
        Some(Trap::UnreachableCodeReached) => match panic_message(guest) {
            Some(message) => format!("gave up: {message}"),
            None => "gave up".to_owned(),
        },
        Some(trap) => trap.to_string(),
        // The outermost words are where in the guest it was; the innermost are what went wrong.
        None => error.root_cause().to_string().lines().next().unwrap_or_default().to_owned(),
    };
    Failure::internal(format!("The plugin `{plugin}` broke down during the call: it {why}."))
        .details(serde_json::json!({"fault": BREAKDOWN}))
        .suggest("This call had no effect beyond files it had already written; other calls work.")
}

/// The answer of a call is larger than the host passes on.
pub fn too_large(most: usize) -> Failure {
    Failure::limit(format!("The tool's answer is larger than {most} bytes (calls.result_bytes).")).suggest("Ask for less at once.")
}

/// The last line of a Rust panic or similar, which the guest wrote before it aborted.
fn panic_message(guest: &Guest) -> Option<String> {
    let bytes = guest.output.contents();
    let text = String::from_utf8_lossy(&bytes);
    let at = text.find("panicked at")?;
    let message: String = text[at..].lines().skip(1).take(1).collect();
    Some(message.chars().filter(|c| !c.is_control()).take(200).collect())
}
