//! The nouns that tests are written with: a server and an archive.

mod archive;
mod cli;
mod guests;
mod process;
mod server;
mod terminal;

pub use archive::{Archive, zip};
pub use cli::Zipfs;
pub use guests::guest;
pub use process::Process;
pub use server::{Reply, Server, Session};
pub use terminal::{Terminal, is_installed};
