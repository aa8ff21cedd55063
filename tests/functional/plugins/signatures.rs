//! Who stands behind a plugin: signed here or with minisign, checked when it is added and each time it is loaded.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{components, error, result};
use crate::support::{Face, Zipfs, guest, have};

/// A key, and its line for the configuration.
fn key(directory: &Path, name: &str) -> (String, String) {
    let file = directory.join(name).to_str().unwrap().to_owned();
    let made = result(&Zipfs(directory).run(&["--json", "plugin", "keygen", &file]));
    (file, made["trusted_key"].as_str().unwrap().to_owned())
}

fn configure(data: &Path, require: bool, keys: &[&str]) {
    let config = json!({"plugins": {"require_signatures": require, "trusted_keys": keys}});
    std::fs::write(data.join("config.json"), config.to_string()).unwrap();
}

/// A packed plugin, signed by a key.
fn packed(directory: &Path, face: &Face, key: Option<&str>) -> String {
    let folder = face.folder(&directory.join("to-pack"), "1.0.0", "");
    let file = directory.join("packed.wasm").to_str().unwrap().to_owned();
    let mut arguments = vec!["plugin", "pack", folder.to_str().unwrap(), "--output", &file];
    arguments.extend(key.into_iter().flat_map(|key| ["--sign", key]));
    Zipfs(directory).ok(&arguments);
    file
}

fn add(data: &Path, source: &str) -> std::process::Output {
    Zipfs(data).run(&["--json", "plugin", "add", "--yes", source])
}

#[test]
fn where_signatures_are_required_nothing_else_is_added() {
    let data = tempfile::tempdir().unwrap();
    let (data, work) = (data.path(), tempfile::tempdir().unwrap());
    let ((ours, line), (theirs, _)) = (key(work.path(), "ours"), key(work.path(), "theirs"));
    configure(data, true, &[&line]);
    let unsigned = packed(work.path(), &Face::new(1), None);
    assert_eq!(error(&add(data, &unsigned))["code"], "SIGNATURE_REQUIRED");
    let other = packed(work.path(), &Face::new(1), Some(&theirs));
    let refused = error(&add(data, &other));
    assert_eq!(refused["code"], "SIGNATURE_REQUIRED");
    assert!(refused["message"].as_str().unwrap().contains("not among"), "{refused}");
    // A folder, whose plugin.toml nobody signed, is no signed plugin either.
    let folder = Face::new(1).folder(&work.path().join("folder"), "1.0.0", "");
    assert_eq!(error(&add(data, folder.to_str().unwrap()))["code"], "SIGNATURE_REQUIRED");
    // One byte is enough.
    let signed = packed(work.path(), &Face::new(1), Some(&ours));
    let mut bytes = std::fs::read(&signed).unwrap();
    let at = bytes.windows(7).position(|window| window == b"Face A.").unwrap();
    bytes[at + 5] = b'Z';
    std::fs::write(work.path().join("changed.wasm"), bytes).unwrap();
    assert_eq!(error(&add(data, work.path().join("changed.wasm").to_str().unwrap()))["code"], "SIGNATURE_INVALID");
    assert_eq!(components(data), [""; 0]);
    // And what is as it should be is added.
    assert_eq!(result(&add(data, &signed))["signed"]["standing"], "trusted");
    Zipfs(data).ok(&["call", "faces_00001"]);
    assert!(Zipfs(data).ok(&["plugin", "info", "faces-00001"]).contains("which is trusted"));
}

#[test]
fn each_load_asks_again() {
    let data = tempfile::tempdir().unwrap();
    let (data, work) = (data.path(), tempfile::tempdir().unwrap());
    let ((ours, line), (_, other)) = (key(work.path(), "ours"), key(work.path(), "other"));
    configure(data, true, &[&line]);
    result(&add(data, &packed(work.path(), &Face::new(1), Some(&ours))));
    Zipfs(data).ok(&["call", "faces_00001"]);
    // A key that is not trusted any more: its plugins are gone until it is, and verify says why.
    configure(data, true, &[&other]);
    Zipfs(data).fails(&["call", "faces_00001"], 1);
    assert!(Zipfs(data).fails(&["plugin", "verify"], 5).contains("not as they were admitted"));
    assert!(Zipfs(data).ok(&["plugin", "info", "faces-00001"]).contains("CANNOT BE USED"));
    configure(data, true, &[&line]);
    Zipfs(data).ok(&["call", "faces_00001"]);
    // What was added before signatures were required is not there either.
    configure(data, false, &[]);
    result(&add(data, guest("noop").to_str().unwrap()));
    Zipfs(data).ok(&["call", "noop"]);
    configure(data, true, &[&line]);
    Zipfs(data).fails(&["call", "noop"], 1);
}

/// Whoever can write plugins/ and cache/, and not the rest of the data directory, does not get anything run.
#[test]
fn what_is_exchanged_on_disk_is_not_run() {
    let data = tempfile::tempdir().unwrap();
    let (data, work) = (data.path(), tempfile::tempdir().unwrap());
    let (ours, line) = key(work.path(), "ours");
    configure(data, true, &[&line]);
    result(&add(data, &packed(work.path(), &Face::new(1), Some(&ours))));
    result(&add(data, &packed(work.path(), &Face::new(2).version(2), Some(&ours))));
    let call = |tool: &str| Zipfs(data).run(&["--json", "call", tool]);
    let version = |output: &std::process::Output| result(output)["version"].as_str().unwrap().to_owned();
    assert_eq!((version(&call("faces_00001")), version(&call("faces_00002"))), ("10000.0.0".into(), "20000.0.0".into()));

    // Compiled code of another plugin, with the seal that belongs to it: made again from the component.
    let digest = |name: &str| result(&Zipfs(data).run(&["--json", "plugin", "info", name]))["digest"].as_str().unwrap().to_owned();
    let (one, two) = (digest("faces-00001"), digest("faces-00002"));
    let kept = |digest: &str, end: &str| -> std::path::PathBuf {
        let entries = std::fs::read_dir(data.join("cache")).unwrap().flatten().map(|entry| entry.path());
        let is_meant = |path: &std::path::PathBuf| {
            path.file_name().unwrap().to_str().unwrap().starts_with(digest) && path.extension().is_some_and(|found| found == end)
        };
        entries.into_iter().find(is_meant).unwrap_or_else(|| panic!("no {end} for {digest}"))
    };
    for end in ["cwasm", "seal"] {
        std::fs::copy(kept(&two, end), kept(&one, end)).unwrap();
    }
    assert!(Zipfs(data).fails(&["plugin", "verify", "faces-00001"], 5).contains("not as they were"));
    assert_eq!(version(&call("faces_00001")), "10000.0.0");
    Zipfs(data).ok(&["plugin", "verify"]);

    // The component of another plugin, signed as well, under this one's name: its digest is not the one that was admitted.
    let component = |name: &str| {
        let found = components(data).into_iter().find(|file| file.starts_with(name)).unwrap();
        data.join("plugins").join(found)
    };
    let good = std::fs::read(component("faces-00001")).unwrap();
    std::fs::copy(component("faces-00002"), component("faces-00001")).unwrap();
    assert_eq!(error(&call("faces_00001"))["code"], "PLUGIN_CHANGED");
    std::fs::remove_file(component("faces-00001")).unwrap();
    assert_eq!(error(&call("faces_00001"))["code"], "PLUGIN_CHANGED");
    std::fs::write(data.join("plugins").join(format!("faces-00001-{}.wasm", &one[..16])), good).unwrap();
    assert_eq!(version(&call("faces_00001")), "10000.0.0");
}

#[test]
fn an_update_by_another_key_is_held() {
    let data = tempfile::tempdir().unwrap();
    let (data, work) = (data.path(), tempfile::tempdir().unwrap());
    let ((ours, our_line), (theirs, their_line)) = (key(work.path(), "ours"), key(work.path(), "theirs"));
    configure(data, false, &[&our_line, &their_line]);
    result(&add(data, &packed(work.path(), &Face::new(1), Some(&ours))));
    let update = |face: &Face, key: Option<&str>| {
        let file = packed(work.path(), face, key);
        Zipfs(data).run(&["--json", "plugin", "update", "faces-00001", "--from", &file])
    };
    for key in [None, Some(&*theirs)] {
        let held = error(&update(&Face::new(1).version(2), key));
        assert_eq!(held["code"], "UPDATE_HELD");
        assert!(held["message"].as_str().unwrap().contains("signed by"), "{held}");
    }
    result(&update(&Face::new(1).version(2), Some(&ours)));
}

#[test]
fn minisign_and_zipfs_understand_each_other() {
    if !have("minisign", "signatures are those of minisign") {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let (data, work) = (data.path(), tempfile::tempdir().unwrap());
    let work = work.path();
    let minisign = |arguments: &[&str]| {
        let output = Command::new("minisign").args(arguments).current_dir(work).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    // Its key and its signature beside the file: trusted here.
    minisign(&["-G", "-W", "-p", "theirs.pub", "-s", "theirs.key"]);
    let public = std::fs::read_to_string(work.join("theirs.pub")).unwrap();
    let line = public.lines().nth(1).unwrap();
    configure(data, true, &[line]);
    let file = packed(work, &Face::new(1), None);
    minisign(&["-S", "-s", "theirs.key", "-m", &file]);
    assert_eq!(result(&add(data, &file))["signed"]["standing"], "trusted");
    Zipfs(data).ok(&["call", "faces_00001"]);
    // Its key, used by zipfs.
    let with_their_key = packed(work, &Face::new(2), Some(work.join("theirs.key").to_str().unwrap()));
    assert_eq!(result(&add(data, &with_their_key))["signed"]["standing"], "trusted");
    // Our key, used by minisign.
    let (ours, line) = key(work, "ours");
    configure(data, true, &[&line]);
    let file = packed(work, &Face::new(3), None);
    minisign(&["-S", "-s", &ours, "-m", &file]);
    minisign(&["-V", "-p", &format!("{ours}.pub"), "-m", &file]);
    assert_eq!(result(&add(data, &file))["signed"]["standing"], "trusted");
    // The old form, which signs without hashing first, is not taken.
    let file = packed(work, &Face::new(4), None);
    minisign(&["-S", "-l", "-s", &ours, "-m", &file]);
    assert_eq!(error(&add(data, &file))["code"], "SIGNATURE_INVALID");
}

#[test]
fn keys_that_are_none_stop_the_program() {
    let data = tempfile::tempdir().unwrap();
    configure(data.path(), true, &["nonsense"]);
    let refused: Value = error(&Zipfs(data.path()).run(&["--json", "plugin", "list"]));
    assert!(refused["message"].as_str().unwrap().contains("plugins.trusted_keys"), "{refused}");
    // None is overwritten.
    let (file, _) = key(tempfile::tempdir().unwrap().keep().as_path(), "key");
    std::fs::remove_file(data.path().join("config.json")).unwrap();
    assert_eq!(error(&Zipfs(data.path()).run(&["--json", "plugin", "keygen", &file]))["code"], "FILE_NOT_WRITTEN");
}
