//! Ends a child that owes an answer for too long, so that a server that hangs fails its measurement and not the whole run.
//!
//! The reader says when it waits with two stores to memory; a time-out on the pipe itself would be one more system call inside
//! every measured call.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long an answer may take. More than a hundred times what the slowest peer takes to start, so it means "never".
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A child process under watch.
pub struct Watched {
    child: Mutex<Child>,
    /// Milliseconds since the clock's start at which the reader began to wait; zero while it does not.
    waiting_since: AtomicU64,
    was_ended: AtomicBool,
}

impl Watched {
    pub fn new(child: Child) -> Arc<Self> {
        let watched =
            Arc::new(Self { child: Mutex::new(child), waiting_since: AtomicU64::new(0), was_ended: AtomicBool::new(false) });
        lock(watch_list()).push(Arc::downgrade(&watched));
        watched
    }

    pub fn begin_wait(&self) {
        self.waiting_since.store(clock(), Ordering::Relaxed);
    }

    pub fn end_wait(&self) {
        self.waiting_since.store(0, Ordering::Relaxed);
    }

    /// Whether the watch ended it for its silence.
    pub fn was_ended(&self) -> bool {
        self.was_ended.load(Ordering::Relaxed)
    }

    /// Waits a moment for the child to end by itself, as it should once its input is closed, and ends it otherwise.
    pub fn end(&self) {
        let deadline = Instant::now() + Duration::from_millis(500);
        let mut child = lock(&self.child);
        while let Ok(None) = child.try_wait() {
            if Instant::now() > deadline {
                let _ = child.kill();
                let _ = child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Starts the watch. Called once, before the first child, so that no measurement pays for the thread.
pub fn start() {
    clock();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            lock(watch_list()).retain(|watched| watched.upgrade().map(|watched| look_at(&watched)).is_some());
        }
    });
}

fn look_at(watched: &Watched) {
    let since = watched.waiting_since.load(Ordering::Relaxed);
    if since != 0 && clock().saturating_sub(since) > PATIENCE.as_millis() as u64 {
        // The reader then finds its pipe closed and reports it.
        watched.was_ended.store(true, Ordering::Relaxed);
        let _ = lock(&watched.child).kill();
    }
}

fn watch_list() -> &'static Mutex<Vec<Weak<Watched>>> {
    static LIST: Mutex<Vec<Weak<Watched>>> = Mutex::new(Vec::new());
    &LIST
}

/// Milliseconds since the first look, and never zero.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
