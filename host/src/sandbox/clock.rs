//! The ticking that interrupts guests: a thread that advances the engine's epoch while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::Engine;

/// How often a running guest can be interrupted. A guest holds the thread it was started on for one tick at most.
pub const TICK: Duration = Duration::from_millis(5);

/// Ticks without a call after which the thread sleeps until it is needed.
const IDLE_TICKS: u32 = 200;

/// Advances epochs while somebody holds a [`Running`].
pub struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// A call in progress.
pub struct Running(Arc<Shared>);

impl Ticker {
    pub fn start(engine: Engine) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared { running: 0.into(), asleep: false.into(), stop: false.into() });
        let state = shared.clone();
        let handle = std::thread::Builder::new().name("epoch".into()).spawn(move || {
            let mut idle = 0;
            while !state.stop.load(Ordering::Acquire) {
                if state.running.load(Ordering::Acquire) == 0 {
                    idle += 1;
                } else {
                    idle = 0;
                }
                if idle < IDLE_TICKS {
                    std::thread::sleep(TICK);
                } else {
                    // Order matters: say that we sleep, then look again. A call that came before it saw us awake is seen here.
                    state.asleep.store(true, Ordering::SeqCst);
                    if state.running.load(Ordering::SeqCst) == 0 {
                        std::thread::park();
                    }
                    state.asleep.store(false, Ordering::SeqCst);
                    idle = 0;
                }
                engine.increment_epoch();
            }
        })?;
        Ok(Ticker { shared, thread: handle.thread().clone() })
    }

    pub fn enter(&self) -> Running {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(self.shared.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
