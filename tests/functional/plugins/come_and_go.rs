//! Adding and removing, and what the person sees who decides.

use serde_json::json;

use super::{components, error, names, result};
use crate::support::{Face, Zipfs, guest};

#[test]
fn the_label_says_what_it_can_and_what_it_cannot_and_why() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let shown = zipfs.ok(&["plugin", "add", "--yes", guest("noop").to_str().unwrap()]);
    for line in
        ["does not import wasi:http", "does not import zipfs:plugin/sessions", "not signed", "noop  no workspace", "nothing beyond"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // Another plugin gets another label: this one imports the interface, and may write.
    let reading = zipfs.ok(&["plugin", "add", "--yes", guest("read-only").to_str().unwrap()]);
    assert!(reading.contains("outside of the workspace: asks for no directory"), "{reading}");
    let files = zipfs.run(&["plugin", "add", "--yes", guest("undeclared-files").to_str().unwrap()]);
    let shown = String::from_utf8_lossy(&files.stdout);
    assert!(shown.contains("files"), "{shown}");
    assert_eq!(
        error(&zipfs.run(&["--json", "plugin", "add", "--yes", guest("undeclared-files").to_str().unwrap()]))["code"],
        "GRANT_NEEDED"
    );
}

#[test]
fn what_was_added_is_listed_told_and_verified_and_leaves_nothing() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let folder = Face::new(1).folder(&data.path().join("source"), "1.0.0", "description = \"Has a face.\"\n");
    let added = result(&zipfs.run(&["--json", "plugin", "add", "--yes", folder.to_str().unwrap()]));
    assert_eq!((&added["added"], &added["version"]), (&json!("faces-00001"), &json!("10000.0.0")));
    assert_eq!(names(data.path()), ["faces-00001"]);
    let told = result(&zipfs.run(&["--json", "plugin", "info", "faces-00001"]));
    assert_eq!(told["digest"], added["digest"]);
    assert_eq!(told["source"], json!(folder));
    assert_eq!(told["manifest"]["description"], "Has a face.");
    assert!(zipfs.ok(&["plugin", "info", "faces-00001"]).contains("Has a face."));
    assert!(zipfs.ok(&["plugin", "info", "zipfs"]).contains("part of zipfs itself"));
    assert!(zipfs.ok(&["plugin", "verify"]).contains("good"));
    assert_eq!(components(data.path()).len(), 1);
    zipfs.ok(&["plugin", "remove", "faces-00001"]);
    assert_eq!(names(data.path()), [""; 0]);
    assert_eq!(components(data.path()), [""; 0]);
    let code = std::fs::read_dir(data.path().join("cache")).unwrap().flatten();
    let digest = added["digest"].as_str().unwrap().to_owned();
    assert!(code.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(&digest)));
    for command in ["remove", "info", "verify", "update"] {
        assert_eq!(error(&zipfs.run(&["--json", "plugin", command, "faces-00001"]))["code"], "PLUGIN_NOT_FOUND", "{command}");
    }
}

#[test]
fn nobody_is_added_who_says_nothing() {
    let data = tempfile::tempdir().unwrap();
    let face = Face::new(1).write(&data.path().join("face.wasm"));
    // No terminal, no --yes.
    assert_eq!(error(&Zipfs(data.path()).run(&["--json", "plugin", "add", face.to_str().unwrap()]))["code"], "NOT_CONFIRMED");
    assert_eq!(components(data.path()), [""; 0]);
}

#[test]
fn names_are_taken_once() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let add = |face: &Face| {
        let path = face.write(&data.path().join("face.wasm"));
        zipfs.run(&["--json", "plugin", "add", "--yes", path.to_str().unwrap()])
    };
    result(&add(&Face::new(1)));
    let twice = error(&add(&Face::new(1).version(2)));
    assert_eq!(twice["code"], "PLUGIN_EXISTS");
    assert!(twice["message"].as_str().unwrap().contains("plugin update faces-00001"), "{twice}");
    result(&add(&Face::new(2)));
    assert_eq!(names(data.path()), ["faces-00001", "faces-00002"]);
}

#[test]
fn a_manifest_with_a_mistake_is_refused_before_anything_is_run() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    for (wrong, code) in [
        ("trusted = true\n", "INVALID_PARAMS"),
        ("[workspace]\naccess = \"all\"\n", "INVALID_PARAMS"),
        ("[capabilities]\nnetwork = \"why\"\n", "INVALID_PARAMS"),
        ("version = \"2.0.0\"\n", "INVALID_PARAMS"),
    ] {
        let folder = Face::new(1).folder(&data.path().join("source"), "1.0.0", wrong);
        let refused = error(&zipfs.run(&["--json", "plugin", "add", "--yes", folder.to_str().unwrap()]));
        assert_eq!(refused["code"], code, "{wrong}: {refused}");
    }
    assert_eq!(components(data.path()), [""; 0]);
}

#[test]
fn sources_that_are_none_are_told_so() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let empty = data.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (source, word) in [
        ("file:///etc/passwd", "file://"),
        ("ftp://example.com/a.wasm", "ftp://"),
        ("ghcr.io/someone/notes:1", "oci://ghcr.io/someone/notes:1"),
        ("oci://", "not a reference"),
        ("oci://UPPER/case", "not a reference"),
        ("https://user:secret@example.com/a.wasm", "password"),
        ("/dev/zero", "regular file"),
        (empty.to_str().unwrap(), "plugin.toml"),
        ("/no/such/file.wasm", "/no/such/file.wasm"),
    ] {
        let refused = error(&zipfs.run(&["--json", "plugin", "add", "--yes", source]));
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(word), "{source}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn a_component_is_only_as_large_as_allowed_and_has_its_digest() {
    let data = tempfile::tempdir().unwrap();
    let zipfs = Zipfs(data.path());
    let face = Face::new(1).write(&data.path().join("face.wasm"));
    let face = face.to_str().unwrap();
    std::fs::write(data.path().join("config.json"), json!({"plugins": {"max_component_bytes": 1000}}).to_string()).unwrap();
    assert_eq!(error(&zipfs.run(&["--json", "plugin", "add", "--yes", face]))["code"], "LIMIT_EXCEEDED");
    std::fs::remove_file(data.path().join("config.json")).unwrap();
    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = error(&zipfs.run(&["--json", "plugin", "add", "--yes", "--digest", &wrong, face]));
    assert_eq!(refused["code"], "DIGEST_MISMATCH");
    let message = refused["message"].as_str().unwrap();
    let right = message.split("sha256:").nth(1).unwrap()[..64].to_owned();
    assert_eq!(error(&zipfs.run(&["--json", "plugin", "add", "--yes", "--digest", "md5:0", face]))["code"], "INVALID_PARAMS");
    result(&zipfs.run(&["--json", "plugin", "add", "--yes", "--digest", &right, face]));
}
