//! What a person types. A command turns it into calls at the gate and shows the answer; none goes round the gate.

mod args;
mod audit;
mod call;
mod close;
mod columns;
mod complete;
mod completion;
mod connect;
mod console;
mod delete;
mod demo;
mod diff;
mod doctor;
mod fields;
mod form;
mod grep;
mod ls;
mod man;
mod mcp;
mod open;
mod output;
mod path;
mod plugin;
mod progress;
mod prune;
mod read;
mod serve;
mod sessions;
mod size;
mod status;
mod sync;
mod target;
mod token;
mod tools;
mod tree;
mod wording;
mod words;
mod write;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::json;

use crate::config::{Config, LogFormat};
use crate::failure::Failure;
use crate::observe::start_log;
use args::{Args, Command};
use console::{Console, misused};

/// Runs the program. The exit code says what kind of end it was: 0 well, 1 failed, 2 misused, 3 conflict, 4 no such session,
/// 5 refused for safety.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    start_log(log_format(&args.command));
    let runtime = match runtime(&args.command) {
        Ok(runtime) => runtime,
        Err(error) => return output::fail(&Failure::internal(format!("No runtime: {error}.")), args.json),
    };
    let ended = runtime.block_on(async {
        outlive_file_size_limit();
        run(&args).await
    });
    match &ended {
        // What was begun and is not wanted any more is taken back: an archive half extracted may be large.
        Err(failure) if failure.code == "CANCELLED" => runtime.shutdown_timeout(Duration::from_secs(10)),
        // Calls that are stuck in the kernel do not keep the process.
        _ => runtime.shutdown_background(),
    }
    ended.unwrap_or_else(|failure| output::fail(&failure, args.json))
}

async fn run(args: &Args) -> Result<ExitCode, Failure> {
    // The configuration is read only by what needs it: help with a wrong one must not fail because of it.
    let console = || Config::load().map(|config| Console::new(args, config));
    match &args.command {
        Command::Open(command) => open::run(&mut console()?, command).await,
        Command::Close(command) => close::run(&mut console()?, command).await,
        Command::Sessions => sessions::run(&console()?).await,
        Command::Prune(command) => prune::run(&console()?, command).await,
        Command::Ls(command) => ls::run(&console()?, command).await,
        Command::Tree(command) => tree::run(&console()?, command).await,
        Command::Read(command) => read::run(&console()?, command).await,
        Command::Write(command) => write::run(&console()?, command).await,
        Command::Delete(command) => delete::run(&console()?, command).await,
        Command::Grep(command) => grep::run(&console()?, command).await,
        Command::Sync(command) => sync::run(&console()?, command).await,
        Command::Status(command) => status::run(&console()?, command).await,
        Command::Path(command) => path::run(&console()?, command).await,
        Command::Diff(command) => diff::run(&console()?, command).await,
        Command::Call(command) => call::run(&console()?, command).await,
        Command::Tools(command) => tools::run(&console()?, command).await,
        Command::Plugin(command) => plugin::run(&console()?, command).await,
        Command::Mcp(command) => mcp::run(Config::load()?, command).await,
        Command::Serve(command) => serve::run(Config::load()?, command).await,
        Command::Audit(command) => audit::run(&console()?, command).await,
        Command::Token(command) => token::run(&console()?, command),
        Command::Connect => connect::run(args),
        Command::Demo => demo::run(args).await,
        Command::Completion(command) => completion::run(command),
        Command::Version => version(args.json),
        Command::Man(command) => man::run(command),
        Command::Doctor => return doctor::run(args).await,
        Command::Complete(command) => return complete::run(command).await,
    }
    .map(|()| ExitCode::SUCCESS)
}

fn version(json: bool) -> Result<(), Failure> {
    match json {
        true => output::print_json(&json!({"version": env!("CARGO_PKG_VERSION")})),
        false => output::print(&format!("zipfs {}\n", env!("CARGO_PKG_VERSION"))),
    }
}

/// Help that was asked for is no mistake. A mistake is told in JSON if the rest of the line asks for that.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let text = error.render().to_string();
        let said = text.trim().trim_start_matches("error: ");
        return output::fail(&misused(said), true);
    }
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

/// A server answers many calls at once, and some tools use every core. What only looks at a session is done before the threads
/// for that would have been started.
fn runtime(command: &Command) -> std::io::Result<tokio::runtime::Runtime> {
    let is_small = matches!(
        command,
        Command::Ls(_)
            | Command::Tree(_)
            | Command::Read(_)
            | Command::Write(_)
            | Command::Delete(_)
            | Command::Status(_)
            | Command::Path(_)
            | Command::Sessions
            | Command::Tools(_)
            | Command::Complete(_)
            | Command::Version
    );
    if is_small {
        return tokio::runtime::Builder::new_current_thread().enable_all().build();
    }
    // One client is best served by the thread that hears it: see `server/relief.rs`, where others come from.
    if matches!(command, Command::Mcp(_)) {
        return tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    }
    // Two threads at least: one call that waits in the kernel must not keep the next from being read.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
}

/// Where `ulimit -f` bounds files, the kernel ends a process that passes it unless it listens to the signal; then the write fails
/// like one on a full disk, and is cleaned up after. Test: `crash::limits::a_file_size_limit_is_an_error_and_not_the_end`.
fn outlive_file_size_limit() {
    const SIGXFSZ: i32 = 25;
    let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
}

/// How a server's log looks can be configured. A command does not read its configuration for that, which may be wrong.
fn log_format(command: &Command) -> LogFormat {
    match command {
        Command::Mcp(_) | Command::Serve(_) => {
            Config::load().map(|config| config.settings.telemetry.log_format).unwrap_or_default()
        }
        _ => LogFormat::default(),
    }
}
