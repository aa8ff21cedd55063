//! Log lines of the running call: to the host's log, and to the client if it wants them.

/// How much a line matters, as in syslog.
pub use crate::bindings::plugin::zipfs::plugin::log::Level;

/// Writes one line.
pub fn write(level: Level, message: &str) {
    #[cfg(target_family = "wasm")]
    crate::bindings::plugin::zipfs::plugin::log::write(level, message);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::stage::with(|stage| stage.log.push((level, message.to_owned())));
}

/// For whoever looks for a fault.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// Something ordinary happened.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// Something went differently than it should, and the work goes on.
pub fn warn(message: &str) {
    write(Level::Warning, message);
}

/// Something failed.
pub fn error(message: &str) {
    write(Level::Error, message);
}
