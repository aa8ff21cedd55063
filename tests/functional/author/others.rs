//! A component that somebody else made, for another host, long before: the tools of the Bytecode Alliance for components, as the
//! package jco carries them.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Server, have, skipped};

const PACKAGE: &str = "@bytecodealliance/jco@1.0.0";

#[test]
fn a_component_made_by_others_runs_as_it_is() {
    if !have("npm", "a component made by others runs") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let packed = Command::new("npm").args(["pack", "--silent", PACKAGE]).current_dir(place.path()).output().unwrap();
    let file = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    if !packed.status.success() || file.is_empty() {
        skipped(&format!("{PACKAGE} cannot be fetched, so nothing shows that a component made by others runs"));
        return;
    }
    let status = Command::new("tar").args(["xzf", &file]).current_dir(place.path()).status().unwrap();
    assert!(status.success());
    let server = Server::start();
    let component = place.path().join("package/obj/wasm-tools.component.wasm");
    server.cli().ok(&["plugin", "add", "--yes", component.to_str().unwrap()]);

    let tools = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let parse = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "tools_parse").unwrap_or_else(|| panic!("{tools}"));
    assert_eq!(parse["inputSchema"]["properties"]["wat"]["type"], "string", "{parse}");

    // It imports the filesystem, so it is given the session's; it needs none of it.
    let archive = crate::support::Archive::of(&[("a.txt", "hi")]);
    let session = server.open(&archive);
    let call = |tool: &str, arguments: Value| session.call(tool, arguments);
    let wasm = call("tools_parse", json!({"wat": "(component (core module (func (export \"f\"))))"})).value()["result"].clone();
    assert!(wasm.as_str().unwrap().starts_with("AGFzbQ"), "{wasm}");
    let wat = call("tools_print", json!({"binary": wasm})).value()["result"].clone();
    assert!(wat.as_str().unwrap().contains("(export \"f\""), "{wat}");
    let (_, message) = call("tools_parse", json!({"wat": "(component"})).failure();
    assert!(message.contains("expected"), "{message}");
}
