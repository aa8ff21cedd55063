//! kill −9 at every system call.

use super::scene::{Act, Scene};
use super::stepper::{ALL, DURABLE, each, points};
use super::{has_program, is_full};

/// Kills the server at each point of an act; returns how many there were.
fn kill_everywhere(act: Act, calls: &str, step: usize) -> usize {
    let (answer, log) = Scene::prepare(act).traced(calls, None);
    assert!(answer.is_some_and(|answer| answer["result"]["isError"] != true), "{act:?} works under strace");
    let all = points(&log);
    let some: Vec<_> = all.iter().step_by(step).collect();
    let killed = std::sync::atomic::AtomicUsize::new(0);
    each(&some, |point| {
        // Which thread makes a call can differ from run to run, and with it the number; then nothing happens, and it is tried again.
        for _ in 0..3 {
            let scene = Scene::prepare(act);
            let inject = format!("{}:signal=KILL:when={}", point.call, point.number);
            let (answer, log) = scene.traced(calls, Some(&inject));
            let is_killed = answer.is_none() && log.contains("killed by SIGKILL");
            scene.check(&format!("{act:?} killed at {} {}", point.call, point.number));
            if is_killed {
                killed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                break;
            }
        }
    });
    let killed = killed.into_inner();
    eprintln!("{act:?}: killed at {killed} of {} points", some.len());
    assert!(killed * 10 >= some.len() * 8, "{act:?}: only {killed} of {} points were reached", some.len());
    killed
}

#[test]
fn killed_at_any_point_of_sync() {
    if has_program("strace") {
        let killed = kill_everywhere(Act::Sync, if is_full() { ALL } else { DURABLE }, 1);
        assert!(killed >= 60, "only {killed} points");
    }
}

#[test]
fn killed_at_any_point_of_open() {
    if has_program("strace") {
        kill_everywhere(Act::Open, if is_full() { ALL } else { DURABLE }, if is_full() { 1 } else { 4 });
    }
}

#[test]
fn killed_at_any_point_of_write() {
    if has_program("strace") {
        kill_everywhere(Act::Write, if is_full() { ALL } else { DURABLE }, if is_full() { 1 } else { 3 });
    }
}

#[test]
fn killed_at_any_point_of_close() {
    if has_program("strace") {
        kill_everywhere(Act::Close, if is_full() { ALL } else { DURABLE }, if is_full() { 1 } else { 3 });
    }
}
