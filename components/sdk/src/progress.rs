//! Progress of the running call. Nothing happens if the client did not ask for it.

/// Says how far the work is. `done` must grow from report to report; `total` is in the same unit.
pub fn report(done: f64, total: Option<f64>, message: Option<&str>) {
    #[cfg(target_family = "wasm")]
    crate::bindings::plugin::zipfs::plugin::progress::report(done, total, message);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::stage::with(|stage| {
        stage.progress.push(crate::testing::Progress { done, total, message: message.map(str::to_owned) })
    });
}
