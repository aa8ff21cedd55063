//! What a person types.

mod args;
mod call;
mod connect;
mod demo;
mod mcp;
mod output;
mod plugin;

use std::process::ExitCode;

use clap::Parser;

use crate::config::Config;
use crate::failure::Failure;
use args::{Args, Command};

/// Runs the program. The exit code says what kind of end it was: 0 well, 1 failed, 2 misused, 3 conflict, 4 no such session,
/// 5 refused for safety.
pub fn main() -> ExitCode {
    let args = Args::parse();
    start_log();
    // Two threads at least: one call that waits in the kernel must not keep the next from being read.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output::fail(&Failure::internal(format!("No runtime: {error}.")), args.json),
    };
    let ended = runtime.block_on(async {
        outlive_file_size_limit();
        run(&args).await
    });
    // Calls that are stuck in the kernel do not keep the process.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::fail(&failure, args.json),
    }
}

async fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Mcp => mcp::run(Config::load()?).await,
        Command::Demo => demo::run(args).await,
        Command::Call(call) => call::run(Config::load()?, call, args.json).await,
        Command::Tools { name } => call::describe(Config::load()?, name.as_deref(), args.json).await,
        Command::Plugin(command) => plugin::run(Config::load()?, command, args).await,
        Command::Connect => output::print(&connect::snippets()),
        Command::Version => output::print(&format!("zipfs {}\n", env!("CARGO_PKG_VERSION"))),
    }
}

/// Where `ulimit -f` bounds files, the kernel ends a process that passes it unless it listens to the signal; then the write fails
/// like one on a full disk, and is cleaned up after. Test: `crash::limits::a_file_size_limit_is_an_error_and_not_the_end`.
fn outlive_file_size_limit() {
    const SIGXFSZ: i32 = 25;
    let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
}

/// The log goes to standard error, and says little unless `ZIPFS_LOG` asks for more: `ZIPFS_LOG=zipfs=debug`.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("ZIPFS_LOG").unwrap_or_else(|_| "warn".into());
    let colour = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    // A log that cannot be written is no reason to break off a call, which is what complaining about it to the same place does.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let _ = log.with_ansi(colour).try_init();
}
