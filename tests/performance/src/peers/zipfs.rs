//! zipfs itself: a data directory of its own, one archive open, and the plugin `noop` if there is one.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::{Peer, Role, Subject};
use crate::fixture::{FILE, Fixture, LAST_WORD};
use crate::pipe::{Launch, Pipe};
use crate::wire::Request;

pub fn find(fixture: &Fixture, subject: &Subject) -> Result<Peer> {
    if !subject.program.is_file() {
        bail!(
            "{} does not exist; build it with `cargo build --release`, or say where it is with --zipfs",
            subject.program.display()
        );
    }
    let data = fixture.home.path().join("data");
    std::fs::create_dir(&data)?;
    let launch = Launch::of_zipfs(&subject.program, &data);
    let noop = match subject.noop_plugin {
        Some(component) => add_plugin(&subject.program, &data, component)
            .map(|()| Request::call("noop", &json!({})))
            .map_err(|error| format!("{error:#}")),
        None => Err("no component with a tool `noop` was given with --noop".to_owned()),
    };
    // This first server also fills whatever caches there are: what is measured later is a warm start.
    let mut first = Pipe::connect(&launch)?;
    let open = Request::call("zipfs_open", &json!({"path": fixture.archive, "name": "bench"}));
    first.ask(&open).context("zipfs_open")?;
    drop(first);
    Ok(Peer {
        role: Role::Zipfs,
        name: "zipfs".to_owned(),
        launch,
        noop,
        // Without `session`, as an agent with one archive open would call it: finding the session is part of the price.
        read: Ok(Request::call("zipfs_read", &json!({"path": FILE})).proven_by(LAST_WORD)),
    })
}

const DATA_DIR: &str = "ZIPFS_DATA_DIR";

fn add_plugin(program: &Path, data: &Path, component: &Path) -> Result<()> {
    let arguments: [OsString; 4] = ["plugin".into(), "add".into(), component.into(), "--yes".into()];
    let output = Command::new(program).args(arguments).env(DATA_DIR, data).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`zipfs plugin add {} --yes` failed ({}): {}", component.display(), output.status, said.trim());
    }
    Ok(())
}
