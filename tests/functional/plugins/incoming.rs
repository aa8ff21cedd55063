//! A plugin that is put into `plugins/incoming` is taken up if it needs nothing beyond the workspace; else it waits, and says why.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::names;
use crate::support::{Face, Server, Zipfs};

fn incoming(data: &Path, name: &str) -> PathBuf {
    let directory = data.join("plugins/incoming");
    std::fs::create_dir_all(&directory).unwrap();
    directory.join(name)
}

/// What waits, with the reason.
fn waiting(data: &Path) -> Vec<(String, String)> {
    let listed: Value = serde_json::from_str(&Zipfs(data).ok(&["--json", "plugin", "list"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["waiting"])
        .filter(|one| !one.is_null())
        .map(|one| (text(&one["entry"]), text(&one["why"])))
        .collect()
}

#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_running_server_takes_up_what_needs_nothing() {
    let server = Server::start();
    let aside = Face::new(1).folder(&server.data().join("aside"), "1.0.0", "");
    std::fs::rename(aside, incoming(server.data(), "faces")).unwrap();
    server.wait("the news", |message| message["method"] == "notifications/tools/list_changed");
    server.call("faces_00001", json!({})).is(json!({"version": "10000.0.0"}));
    assert!(!incoming(server.data(), "faces").exists(), "it was taken");
    // A file does as well, and a new version of what is there.
    Face::new(1).version(2).write(&incoming(server.data(), "next.wasm"));
    eventually("the update", || server.call("faces_00001", json!({})).value()["version"] == "20000.0.0");
}

#[test]
fn what_asks_for_more_or_is_none_waits_and_says_why() {
    let server = Server::start();
    let data = server.data();
    Face::new(1).folder(&incoming(data, "asks"), "1.0.0", "[capabilities]\nfiles = \"Sets modes.\"\n");
    std::fs::write(incoming(data, "nonsense.wasm"), "hello").unwrap();
    std::fs::create_dir(incoming(data, "empty")).unwrap();
    std::os::unix::fs::symlink("/etc", incoming(data, "link")).unwrap();
    eventually("the look", || waiting(data).len() == 4 && waiting(data).iter().all(|(_, why)| !why.contains("not looked at")));
    let waiting = waiting(data);
    let why = |name: &str| &waiting.iter().find(|(entry, _)| entry == name).unwrap_or_else(|| panic!("{waiting:?}")).1;
    assert!(why("asks").contains("files"), "{waiting:?}");
    assert!(why("nonsense.wasm").contains("component"), "{waiting:?}");
    assert!(why("empty").contains("plugin.toml"), "{waiting:?}");
    assert!(why("link").contains("link"), "{waiting:?}");
    assert_eq!(names(data), [""; 0]);
    // A person can still add it, and then it is not there any more to wait.
    let shown = server.cli().ok(&["plugin", "list"]);
    assert!(shown.contains("zipfs plugin add"), "{shown}");
    server.cli().ok(&["plugin", "add", "--grant", "files", incoming(data, "asks").to_str().unwrap()]);
    assert_eq!(names(data), ["faces-00001"]);
}

#[test]
fn a_version_that_changes_words_waits_to_be_approved() {
    let server = Server::start();
    Face::new(1).write(&incoming(server.data(), "faces.wasm"));
    eventually("the plugin", || names(server.data()) == ["faces-00001"]);
    let next = Face::new(1).version(2).saying('B').write(&incoming(server.data(), "next.wasm"));
    eventually("the look", || waiting(server.data()).iter().any(|(_, why)| why.contains("description")));
    server.call("faces_00001", json!({})).is(json!({"version": "10000.0.0"}));
    server.cli().ok(&["plugin", "update", "faces-00001", "--from", next.to_str().unwrap(), "--approve"]);
    server.call("faces_00001", json!({})).is(json!({"version": "20000.0.0"}));
}

#[test]
fn what_is_still_being_written_is_left_alone() {
    let server = Server::start();
    let whole = Face::new(1).wasm().to_vec();
    let path = incoming(server.data(), "slow.wasm");
    for end in (1..=8).map(|part| whole.len() * part / 8) {
        std::fs::write(&path, &whole[..end]).unwrap();
        std::thread::sleep(Duration::from_millis(400));
        assert!(waiting(server.data()).iter().all(|(_, why)| why.contains("not looked at")), "it was looked at too soon");
    }
    eventually("the plugin", || names(server.data()) == ["faces-00001"]);
}

#[test]
fn what_others_could_have_put_there_is_not_taken() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start();
    let path = incoming(server.data(), "faces.wasm");
    std::fs::set_permissions(path.parent().unwrap(), std::fs::Permissions::from_mode(0o777)).unwrap();
    Face::new(1).write(&path);
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(names(server.data()), [""; 0]);
    assert!(waiting(server.data())[0].1.contains("mode 0777"), "{:?}", waiting(server.data()));
    std::fs::set_permissions(path.parent().unwrap(), std::fs::Permissions::from_mode(0o700)).unwrap();
    eventually("the plugin", || names(server.data()) == ["faces-00001"]);
}

#[test]
fn the_configuration_can_forbid_it() {
    let server = Server::with(json!({"plugins": {"take_up_incoming": false}}));
    Face::new(1).write(&incoming(server.data(), "faces.wasm"));
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(names(server.data()), [""; 0]);
    assert_eq!(waiting(server.data()).len(), 1);
}
