//! One file to hand on: a component that carries its plugin.toml.

use serde_json::json;

use super::{error, result};
use crate::support::{Face, Zipfs};

#[test]
fn a_packed_plugin_is_a_component_that_carries_what_it_asks_for() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let folder = Face::new(1).folder(&data.path().join("source"), "1.2.3", "description = \"Has a face.\"\n");
    let output = data.path().join("faces.wasm");
    let (folder, file) = (folder.to_str().unwrap(), output.to_str().unwrap());
    let packed = result(&zipfs.run(&["--json", "plugin", "pack", folder, "--output", file]));
    assert_eq!((&packed["packed"], &packed["version"]), (&json!("faces-00001"), &json!("1.2.3")));
    let bytes = std::fs::read(&output).unwrap();
    assert!(bytes.starts_with(b"\0asm\x0d\0\x01\0") && bytes.starts_with(Face::new(1).wasm()));
    // From the folder and from the file it is the same plugin, with the same digest.
    let added = result(&zipfs.run(&["--json", "plugin", "add", "--yes", file]));
    assert_eq!(added["digest"], packed["digest"]);
    zipfs.ok(&["plugin", "remove", "faces-00001"]);
    assert_eq!(result(&zipfs.run(&["--json", "plugin", "add", "--yes", folder]))["digest"], packed["digest"]);
    let told = result(&zipfs.run(&["--json", "plugin", "info", "faces-00001"]));
    assert_eq!(told["manifest"]["description"], "Has a face.");
    // Packing what is packed would leave two manifests.
    std::fs::copy(&output, data.path().join("source/faces.wasm")).unwrap();
    assert_eq!(error(&zipfs.run(&["--json", "plugin", "pack", folder, "--output", file]))["code"], "PLUGIN_INVALID");
}

#[test]
fn what_cannot_be_packed_is_told() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let long = format!("description = \"{}\"\n", "x".repeat(100_000));
    let folder = Face::new(1).folder(&data.path().join("source"), "1.0.0", &long);
    let pack =
        |folder: &std::path::Path| error(&zipfs.run(&["--json", "plugin", "pack", folder.to_str().unwrap(), "-o", "/dev/null/x"]));
    assert_eq!(pack(&folder)["code"], "LIMIT_EXCEEDED");
    Face::new(1).folder(&folder, "1.0.0", "network = true\n");
    assert_eq!(pack(&folder)["code"], "INVALID_PARAMS");
    Face::new(1).folder(&folder, "1.0.0", "");
    assert_eq!(pack(&folder)["code"], "FILE_NOT_WRITTEN");
    assert_eq!(pack(&folder.join("faces.wasm"))["code"], "INVALID_PARAMS");
}
