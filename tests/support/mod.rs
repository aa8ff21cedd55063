//! The nouns that tests are written with: a server and an archive.

mod archive;
mod audit;
mod certificate;
mod cli;
mod face;
mod grpc;
mod guests;
mod plugin;
mod plugins;
mod process;
mod programs;
mod raw_zip;
mod server;
mod service;
mod serving;
mod site;
mod terminal;
mod web;

pub use archive::{Archive, zip};
pub use audit::Audited;
pub use certificate::{Certificate, self_signed};
pub use cli::Zipfs;
pub use face::Face;
pub use grpc::Grpc;
pub use guests::{component, guest};
pub use plugin::Plugin;
pub use plugins::packed_plugin;
pub use process::Process;
pub use programs::{have, python, run, skipped};
pub use raw_zip::{Part, RawEntry, field, raw_entries, raw_zip};
pub use server::{Reply, Server, Session};
pub use service::{Agent, Line, Response, Service, token};
pub use serving::Serving;
pub use site::{Answer, Manner, Request, Site, await_port, certificates};
pub use terminal::Terminal;
pub use web::{Web, reply};
