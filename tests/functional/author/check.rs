//! `zipfs plugin check`.

use serde_json::Value;

use super::folder;
use crate::support::{Zipfs, guest};

fn findings(path: &str) -> (bool, Vec<(String, String)>) {
    let data = tempfile::tempdir().unwrap();
    let output = Zipfs(data.path()).run(&["plugin", "check", path, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let found = report["findings"].as_array().unwrap().iter().map(|one| (text(&one["about"]), text(&one["what"]))).collect();
    (output.status.success(), found)
}

#[test]
fn what_an_agent_would_stumble_over_is_found() {
    let (passed, found) = findings(guest("typed").to_str().unwrap());
    assert!(!passed);
    for (about, what) in [
        ("plugin", "no plugin.toml"),
        ("add", "no description but its types"),
        ("add.a", "no description"),
        ("notes_read.path", "not marked"),
    ] {
        assert!(found.iter().any(|(about_, what_)| about_ == about && what_.contains(what)), "{about}: {what} in {found:?}");
    }
}

#[test]
fn a_manifest_that_asks_too_much_or_says_too_little_is_found() {
    let (_place, path) = folder(
        "undeclared-files",
        "name = \"undeclared-files\"\nversion = \"9.9.9\"\n[workspace]\naccess = \"write\"\n[capabilities]\nfiles = \"\"\n",
    );
    let (passed, found) = findings(path.to_str().unwrap());
    assert!(!passed);
    for what in [
        "no description",
        "says version 9.9.9, the component says 0.1.0",
        "why it works on the workspace",
        "asks for `files` and does not say why",
    ] {
        assert!(found.iter().any(|(about, said)| about == "plugin.toml" && said.contains(what)), "{what} in {found:?}");
    }
}

#[test]
fn what_would_be_refused_is_refused_in_the_same_words() {
    let data = tempfile::tempdir().unwrap();
    let net = guest("net");
    let checked = Zipfs(data.path()).fails(&["plugin", "check", net.to_str().unwrap()], 5);
    let added = Zipfs(data.path()).fails(&["plugin", "add", "--yes", net.to_str().unwrap()], 5);
    assert_eq!(checked, added);
    assert!(Zipfs(data.path()).fails(&["plugin", "check", "/no/such/place"], 1).contains("/no/such/place"));
}
