//! The nouns that tests are written with: a server and an archive.

mod archive;
mod audit;
mod cli;
mod guests;
mod process;
mod programs;
mod raw_zip;
mod server;
mod terminal;

pub use archive::{Archive, zip};
pub use audit::Audited;
pub use cli::Zipfs;
pub use guests::{component, guest};
pub use process::Process;
pub use programs::{have, python, run, skipped};
pub use raw_zip::{Part, RawEntry, field, raw_entries, raw_zip};
pub use server::{Reply, Server, Session};
pub use terminal::Terminal;
