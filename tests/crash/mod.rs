//! Nothing is lost: whatever ends a command, and wherever, the archive is the old one or the new one, and the next command works.
//!
//! The quick part runs with all tests. `just fault` sets `ZIPFS_FAULT=full` and steps through everything.

mod errors;
mod kill;
mod limits;
pub mod places;
mod plugins;
mod power;
mod scene;
mod stepper;
mod together;

/// Whether every point is to be tried, not only some.
fn is_full() -> bool {
    std::env::var_os("ZIPFS_FAULT").is_some_and(|value| value == "full")
}

/// Whether a program of the system is there. A test that needs one and does without says so.
fn has_program(name: &str) -> bool {
    let found =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(name).is_file()));
    if !found {
        crate::support::skipped(&format!("{name} is not installed"));
    }
    found
}
