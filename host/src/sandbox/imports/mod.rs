//! What guests can ask of the host, one file for each interface, and the one list that links them all.

pub mod archive_io;
pub mod changes;
pub mod client;
pub mod endpoints;
pub mod files;
pub mod grants;
pub mod http;
pub mod log;
pub mod parallel;
pub mod progress;
pub mod secrets;
pub mod sessions;
pub mod stubs;

use wasmtime::Result;
use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

use super::bindings::{archive, plugin};
use super::guarded_fs::{Guarded, HasGuarded};
use super::guest::Guest;

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

/// The whole surface of the host but for [`http`], which only guests are linked with that import it. What is not here does not
/// exist for a guest: no sockets, no processes.
///
/// Environment and arguments are linked because the standard libraries of several languages ask for them; the arguments are empty,
/// and the environment has what was granted.
pub fn add_to_linker(linker: &mut Linker<Guest>) -> Result<()> {
    io::error::add_to_linker::<Guest, HasTable>(linker, |guest| &mut guest.table)?;
    io::poll::add_to_linker::<Guest, HasTable>(linker, |guest| &mut guest.table)?;
    io::streams::add_to_linker::<Guest, HasTable>(linker, |guest| &mut guest.table)?;
    filesystem::types::add_to_linker::<Guest, HasGuarded>(linker, |guest| Guarded(guest))?;
    filesystem::preopens::add_to_linker::<Guest, HasGuarded>(linker, |guest| Guarded(guest))?;
    clocks::wall_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    clocks::monotonic_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    random::random::add_to_linker::<Guest, WasiRandom>(linker, Guest::random)?;
    random::insecure::add_to_linker::<Guest, WasiRandom>(linker, Guest::random)?;
    random::insecure_seed::add_to_linker::<Guest, WasiRandom>(linker, Guest::random)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;

    let ours = &mut *linker;
    plugin::zipfs::plugin::types::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::progress::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::log::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::client::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::changes::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::files::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::parallel::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::grants::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::secrets::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::endpoints::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    plugin::zipfs::plugin::sessions::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)?;
    archive::zipfs::plugin::archive_io::add_to_linker::<Guest, HasSelf<Guest>>(ours, |guest| guest)
}

impl plugin::zipfs::plugin::types::Host for Guest {}
