//! The native peer, `src/bin/native-server.rs`.

use anyhow::Result;
use serde_json::json;

use super::{Peer, Role};
use crate::fixture::{FILE, Fixture, LAST_WORD};
use crate::pipe::Launch;
use crate::places::Places;
use crate::wire::{Dialect, Request};

pub fn find(fixture: &Fixture, places: &Places) -> Result<Peer> {
    Ok(Peer {
        role: Role::Native,
        name: "native rmcp".to_owned(),
        launch: Launch {
            program: places.sibling("native-server")?,
            arguments: vec![fixture.directory.clone().into()],
            environment: Vec::new(),
            dialect: Dialect::Mcp,
            complaints: fixture.home.path().join("native.stderr"),
        },
        noop: Ok(Request::call("noop", &json!({}))),
        read: Ok(Request::call("read", &json!({"path": FILE})).proven_by(LAST_WORD)),
    })
}
