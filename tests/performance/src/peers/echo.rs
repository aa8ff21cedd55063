//! The floor of every figure: a program that sends each line back.

use anyhow::Result;
use serde_json::json;

use super::{Peer, Role};
use crate::fixture::{Fixture, LAST_WORD};
use crate::pipe::Launch;
use crate::places::Places;
use crate::wire::{Dialect, Request};

pub fn find(fixture: &Fixture, places: &Places) -> Result<Peer> {
    Ok(Peer {
        role: Role::Floor,
        name: "pipe echo (floor)".to_owned(),
        launch: Launch {
            program: places.sibling("pipe-echo")?,
            arguments: Vec::new(),
            environment: Vec::new(),
            dialect: Dialect::Echo,
            complaints: fixture.home.path().join("echo.stderr"),
        },
        noop: Ok(Request::call("noop", &json!({}))),
        // It can only give back what it got, so the request carries the file: the answer is then as long as the others' are.
        read: Ok(Request::call("read", &json!({"text": fixture.text})).proven_by(LAST_WORD)),
    })
}
