//! `rust-mcp-filesystem`, a server for files in Rust, from the crates registry.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Peer, Role};
use crate::fixture::{FILE, Fixture, LAST_WORD};
use crate::pipe::Launch;
use crate::places::Places;
use crate::wire::{Dialect, Request};

/// Pinned, as the others.
pub const VERSION: &str = "0.4.5";

pub fn find(fixture: &Fixture, places: &Places) -> Result<Peer> {
    let program =
        places.tool("rust-mcp-filesystem").context("not installed; run with --install, which builds it for some minutes")?;
    Ok(Peer {
        role: Role::OtherServer,
        name: format!("rust-mcp-filesystem {VERSION}"),
        launch: Launch {
            program,
            arguments: vec![fixture.directory.clone().into()],
            environment: Vec::new(),
            dialect: Dialect::Mcp,
            complaints: fixture.home.path().join("rust-mcp-filesystem.stderr"),
        },
        noop: Err("has no tool that does nothing".to_owned()),
        read: Ok(Request::call("read_text_file", &json!({"path": fixture.directory.join(FILE)})).proven_by(LAST_WORD)),
    })
}
