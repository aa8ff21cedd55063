//! The log on standard error: for people, or one JSON object a line for machines.

use crate::config::LogFormat;

/// Says little unless `ZIPFS_LOG` asks for more: `ZIPFS_LOG=zipfs=debug`. `ZIPFS_LOG_FORMAT` goes over what is configured.
pub fn start_log(configured: LogFormat) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("ZIPFS_LOG").unwrap_or_else(|_| "warn".into());
    let format = match std::env::var("ZIPFS_LOG_FORMAT").as_deref() {
        Ok("json") => LogFormat::Json,
        Ok("text") => LogFormat::Text,
        _ => configured,
    };
    let colour = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    // A log that cannot be written is no reason to break off a call, which is what complaining about it to the same place does.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let _ = match format {
        LogFormat::Text => log.with_ansi(colour).try_init(),
        LogFormat::Json => log.json().flatten_event(true).with_ansi(false).try_init(),
    };
}
