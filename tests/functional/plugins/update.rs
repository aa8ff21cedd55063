//! Updates: new code takes the place of the old; what an agent reads and a person granted does not change unasked.

use serde_json::{Value, json};

use super::{components, error, result};
use crate::support::{Face, Zipfs};

/// A plugin that was added from a folder, which the test changes.
struct Scene {
    data: tempfile::TempDir,
    folder: std::path::PathBuf,
}

impl Scene {
    fn new() -> Scene {
        let data = tempfile::tempdir().unwrap();
        let folder = Face::new(1).folder(&data.path().join("source"), "1.0.0", "");
        result(&Zipfs(data.path()).run(&["--json", "plugin", "add", "--yes", folder.to_str().unwrap()]));
        Scene { data, folder }
    }

    /// The next version lies in the folder.
    fn offer(&self, face: Face, version: &str, more: &str) {
        face.folder(&self.folder, version, more);
    }

    fn update(&self, more: &[&str]) -> std::process::Output {
        Zipfs(self.data.path()).run(&[&["--json", "plugin", "update", "faces-00001"], more].concat())
    }

    /// The version that answers calls now.
    fn answers(&self) -> String {
        let said = Zipfs(self.data.path()).ok(&["--json", "call", "faces_00001"]);
        serde_json::from_str::<Value>(&said).unwrap()["version"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn is_held(&self, why: &str) -> Value {
        let held = error(&self.update(&[]));
        assert_eq!(held["code"], "UPDATE_HELD");
        assert!(held["message"].as_str().unwrap().contains(why), "{why}: {held}");
        assert_eq!(self.answers(), "10000.0.0", "it was taken");
        held
    }
}

#[test]
fn new_code_is_taken_from_where_the_old_came() {
    let scene = Scene::new();
    assert_eq!(result(&scene.update(&[]))["state"], "up-to-date");
    scene.offer(Face::new(1).version(2), "1.1.0", "");
    let updated = result(&scene.update(&[]));
    assert_eq!((&updated["from"], &updated["to"], &updated["state"]), (&json!("1.0.0"), &json!("1.1.0"), &json!("updated")));
    assert_eq!(scene.answers(), "20000.0.0");
    let told = result(&Zipfs(scene.data.path()).run(&["--json", "plugin", "info", "faces-00001"]));
    assert!(told["updated_at"].is_string());
    // What was replaced goes with the next change at the latest.
    Zipfs(scene.data.path()).ok(&["plugin", "remove", "faces-00001"]);
    assert_eq!(components(scene.data.path()), [""; 0]);
}

#[test]
fn another_source_is_remembered() {
    let scene = Scene::new();
    let elsewhere = Face::new(1).version(2).folder(&scene.data.path().join("elsewhere"), "1.1.0", "");
    result(&scene.update(&["--from", elsewhere.to_str().unwrap()]));
    assert_eq!(scene.answers(), "20000.0.0");
    Face::new(1).version(3).folder(&elsewhere, "1.2.0", "");
    result(&scene.update(&[]));
    assert_eq!(scene.answers(), "30000.0.0");
}

#[test]
fn words_to_agents_are_held_and_shown_and_taken_once_approved() {
    let scene = Scene::new();
    scene.offer(Face::new(1).version(2).saying('B'), "1.1.0", "");
    let held = scene.is_held("changes the tool faces_00001: description");
    let difference = held["details"]["difference"].as_str().unwrap();
    assert!(difference.contains("Face A.\n+") && difference.contains("Face B."), "{difference}");
    // Not in JSON, the difference is on the screen.
    let shown = Zipfs(scene.data.path()).run(&["plugin", "update", "faces-00001"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("+    Waits"), "{shown:?}");
    assert_eq!(shown.status.code(), Some(5));
    // Approving what was shown does not approve what is there by now.
    let digest = held["details"]["digest"].as_str().unwrap();
    let approve = format!("--approve=sha256:{digest}");
    scene.offer(Face::new(1).version(3).saying('C'), "1.1.0", "");
    assert_eq!(error(&scene.update(&[&approve]))["code"], "UPDATE_HELD");
    scene.offer(Face::new(1).version(2).saying('B'), "1.1.0", "");
    result(&scene.update(&[&approve]));
    assert_eq!(scene.answers(), "20000.0.0");
}

#[test]
fn schemas_asks_and_older_versions_are_held() {
    let scene = Scene::new();
    scene.offer(Face::new(1).version(2).taking('B'), "1.1.0", "");
    scene.is_held("input schema");
    scene.offer(Face::new(1).version(2), "1.1.0", "[workspace]\naccess = \"read\"\n");
    scene.is_held("more of the workspace");
    scene.offer(Face::new(1).version(2), "1.1.0", "[capabilities]\nfiles = \"Sets modes.\"\n");
    scene.is_held("asks for more: capabilities files");
    scene.offer(Face::new(1).version(2), "0.9.0", "");
    scene.is_held("It is older: 0.9.0 instead of 1.0.0");
    result(&scene.update(&["--approve"]));
    assert_eq!(scene.answers(), "20000.0.0");
}

#[test]
fn what_is_approved_still_has_to_be_granted() {
    let scene = Scene::new();
    scene.offer(Face::new(1).version(2), "1.1.0", "[capabilities]\nfiles = \"Sets modes.\"\n");
    assert_eq!(error(&scene.update(&["--approve"]))["code"], "GRANT_NEEDED");
    assert_eq!(scene.answers(), "10000.0.0");
    result(&scene.update(&["--approve", "--grant", "files"]));
    assert_eq!(scene.answers(), "20000.0.0");
    // What was granted and is still asked for is kept by the next version, which asks for no more.
    scene.offer(Face::new(1).version(3), "1.2.0", "[capabilities]\nfiles = \"Sets modes.\"\n");
    result(&scene.update(&[]));
    assert_eq!(scene.answers(), "30000.0.0");
    let told = Zipfs(scene.data.path()).ok(&["--json", "plugin", "info", "faces-00001"]);
    assert!(serde_json::from_str::<Value>(&told).unwrap()["granted"].to_string().contains("files"), "{told}");
}

#[test]
fn another_plugin_is_no_update() {
    let scene = Scene::new();
    let other = Face::new(2).write(&scene.data.path().join("other.wasm"));
    assert_eq!(error(&scene.update(&["--from", other.to_str().unwrap()]))["code"], "OTHER_PLUGIN");
    std::fs::remove_dir_all(&scene.folder).unwrap();
    assert_eq!(error(&scene.update(&[]))["code"], "PLUGIN_NOT_FOUND");
    assert_eq!(scene.answers(), "10000.0.0");
}

#[test]
fn all_are_updated_that_can_be() {
    let scene = Scene::new();
    let zipfs = Zipfs(scene.data.path());
    let second = Face::new(2).write(&scene.data.path().join("second.wasm"));
    let third = Face::new(3).write(&scene.data.path().join("third.wasm"));
    for path in [&second, &third] {
        zipfs.ok(&["plugin", "add", "--yes", path.to_str().unwrap()]);
    }
    scene.offer(Face::new(1).version(2), "1.1.0", "");
    Face::new(2).version(2).saying('B').write(&second);
    let output = zipfs.run(&["--json", "plugin", "update", "--all"]);
    assert_eq!(error(&output)["code"], "UPDATE_HELD");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let states: Vec<&str> = listed["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plugin| plugin["state"].as_str().or(plugin["failed"].as_str()).unwrap())
        .collect();
    assert_eq!(states, ["updated", "UPDATE_HELD", "up-to-date"]);
}
