//! Directories besides the workspace: what is in them is reached by handle, and no way leads from one to the other.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Archive, Plugin, Server, Session, have};

const TABLES: &str = "[workspace]\naccess = \"write\"\n\
    [[directory]]\nname = \"docs\"\nguest = \"/docs\"\naccess = \"read\"\n\
    [[directory]]\nname = \"out\"\nguest = \"/out\"\naccess = \"write\"\n";

/// Two directories of the host, and a server with a guest that was granted them.
struct Scene {
    places: tempfile::TempDir,
    server: Server,
    archive: Archive,
}

impl Scene {
    fn set(config: Value) -> Scene {
        Scene::with(Server::having(&Plugin::of("places", TABLES), &[], config))
    }

    /// The same on a kernel without `openat2`; its calls, none of which succeeds, are written to a file.
    fn without_openat2(trace: &Path) -> Scene {
        let server = Server::without_openat2(trace, json!({}));
        Plugin::of("places", TABLES).add(server.data(), &[]);
        Scene::with(server)
    }

    fn with(server: Server) -> Scene {
        let places = tempfile::tempdir().unwrap();
        let at = |name: &str| places.path().join(name);
        for dir in ["docs", "out", "out/sub", "elsewhere"] {
            std::fs::create_dir(at(dir)).unwrap();
        }
        std::fs::write(at("docs/secret.txt"), "secret").unwrap();
        std::fs::write(at("out/mine.txt"), "mine").unwrap();
        std::fs::write(at("elsewhere/outside.txt"), "outside").unwrap();
        symlink("secret.txt", at("docs/link")).unwrap();
        symlink("../elsewhere", at("docs/dir-link")).unwrap();
        symlink("../elsewhere", at("out/dir-link")).unwrap();
        // A link whose target ends in a slash, to a link that leads out.
        symlink("dir-link/", at("out/chain")).unwrap();
        symlink("../elsewhere/planted", at("out/dangling")).unwrap();
        Scene { places, server, archive: Archive::of(&[("a.txt", "unharmed")]) }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.places.path().join(name)
    }

    fn grant(&self) {
        let word = |name: &str| format!("directory={name}:{}", self.at(name).display());
        self.server.cli().ok(&["plugin", "grant", "places", &word("docs"), &word("out")]);
    }

    fn read(&self, session: &Session, path: &str) -> crate::support::Reply {
        session.call("places_read", json!({"path": path}))
    }
}

#[test]
fn a_directory_is_there_while_it_is_granted_to_tools_that_declare_it() {
    let scene = Scene::set(json!({}));
    let session = scene.server.open(&scene.archive);
    scene.read(&session, "/docs/secret.txt").fails("NOT_READ");
    scene.grant();
    assert_eq!(scene.read(&session, "/docs/secret.txt").value()["text"], "secret");
    scene.server.call("places_undeclared", json!({"path": "/docs/secret.txt"})).fails("NOT_READ");
    let written = session.call("places_write", json!({"path": "/out/new.txt", "text": "new"}));
    written.value();
    assert_eq!(std::fs::read_to_string(scene.at("out/new.txt")).unwrap(), "new");
    let listed = session.call("places_list", json!({})).value();
    assert_eq!(listed["paths"], json!(["/workspace", "/docs", "/out"]));
    scene.server.revoke("places", &["directory=docs"]);
    scene.read(&session, "/docs/secret.txt").fails("NOT_READ");
    session.call("places_write", json!({"path": "/out/new.txt", "text": "newer"})).value();
    scene.server.revoke("places", &[]);
    session.call("places_write", json!({"path": "/out/new.txt", "text": "newest"})).fails("NOT_WRITTEN");
    assert_eq!(std::fs::read_to_string(scene.at("out/new.txt")).unwrap(), "newer");
}

#[test]
fn reading_is_not_writing() {
    let scene = Scene::set(json!({}));
    scene.grant();
    let session = scene.server.open(&scene.archive);
    for path in ["/docs/secret.txt", "/docs/new.txt"] {
        session.call("places_write", json!({"path": path, "text": "changed"})).fails("NOT_WRITTEN");
    }
    // A tool that counts as read-only has them all read-only, and a grant can be narrower than the manifest.
    scene.server.call("places_write_read_only", json!({"path": "/out/mine.txt", "text": "changed"})).fails("NOT_WRITTEN");
    let narrower = format!("directory=out:{},read", scene.at("out").display());
    scene.server.grant("places", &narrower);
    session.call("places_write", json!({"path": "/out/mine.txt", "text": "changed"})).fails("NOT_WRITTEN");
    assert_eq!(std::fs::read_to_string(scene.at("out/mine.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(scene.at("docs/secret.txt")).unwrap(), "secret");
}

/// The ways that were found in wasmtime's own file system in 2026: truncation of what is read-only, links and renames from read-only
/// to writable, links with a slash at the end.
#[test]
fn no_way_leads_from_one_to_another() {
    no_way_leads_out(&Scene::set(json!({})));
}

/// Where the kernel has no `openat2`, paths are walked step by step in the host, which is where links with a slash at the end of their
/// target led out.
#[test]
fn no_way_leads_from_one_to_another_without_openat2() {
    if !have("strace", "nothing leads out of a directory on kernels without openat2") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let trace = place.path().join("trace");
    let scene = Scene::without_openat2(&trace);
    no_way_leads_out(&scene);
    // The same for the workspace.
    scene.server.add("links");
    let archive = Archive::of(&[("a.txt", "unharmed")]);
    let session = scene.server.open(&archive);
    let attempts = session.call("links", json!({})).value()["attempts"].clone();
    assert!(attempts.as_array().unwrap().len() >= 20);
    for attempt in attempts.as_array().unwrap() {
        assert_eq!(attempt["refused"], true, "{attempt}");
    }
    // What may be done still works.
    assert_eq!(scene.read(&session, "/docs/link").value()["text"], "secret");
    session.call("places_write", json!({"path": "/out/sub/new.txt", "text": "new"})).value();
    assert_eq!(std::fs::read_to_string(scene.at("out/sub/new.txt")).unwrap(), "new");
    let traced = std::fs::read_to_string(&trace).unwrap();
    let (tried, failed) = (traced.matches("openat2(").count(), traced.matches("ENOSYS").count());
    assert!(tried > 0 && failed >= tried, "{tried} calls of openat2, {failed} of which failed: nothing was shown");
}

#[track_caller]
fn no_way_leads_out(scene: &Scene) {
    scene.grant();
    let session = scene.server.open(&scene.archive);
    let attempts = session.call("places_across", json!({})).value()["attempts"].clone();
    let attempts = attempts.as_array().unwrap();
    assert!(attempts.len() >= 33);
    for attempt in attempts {
        assert_eq!(attempt["refused"], true, "{attempt}");
    }
    let text = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&scene.at("docs/secret.txt")), "secret");
    assert_eq!(text(&scene.at("out/mine.txt")), "mine");
    assert_eq!(text(&session.path.join("a.txt")), "unharmed");
    assert_eq!(text(&scene.at("elsewhere/outside.txt")), "outside");
    let names = |path: &Path| std::fs::read_dir(path).unwrap().count();
    assert_eq!((names(&scene.at("docs")), names(&scene.at("out")), names(&scene.at("elsewhere"))), (3, 5, 1));
    assert_eq!(names(&session.path), 1);
}

#[test]
fn what_is_written_has_an_end() {
    let scene = Scene::set(json!({"calls": {"directory_bytes": 1 << 20, "directory_files": 4}}));
    scene.grant();
    let session = scene.server.open(&scene.archive);
    let taken = scene.server.call("places_fill", json!({})).value()["taken"].as_u64().unwrap();
    assert!((1 << 19..=1 << 20).contains(&taken), "{taken}");
    assert!(std::fs::metadata(scene.at("out/full")).unwrap().len() <= 1 << 20);
    // The session's quota is another, and untouched.
    session.call("zipfs_write", json!({"path": "b.txt", "content": "b"})).value();
}

#[test]
fn a_directory_that_is_gone_is_said_and_one_that_became_ours_is_refused() {
    let scene = Scene::set(json!({}));
    scene.grant();
    let session = scene.server.open(&scene.archive);
    let (out, moved) = (scene.at("out"), scene.at("moved"));
    std::fs::rename(&out, &moved).unwrap();
    let message = scene.read(&session, "/docs/secret.txt").fails("GRANT_UNUSABLE");
    assert!(message.contains("out"), "{message}");
    // Exchanged for a link into the data directory, it is what it leads to.
    symlink(scene.server.data().join("plugins"), &out).unwrap();
    scene.read(&session, "/docs/secret.txt").fails("GRANT_UNUSABLE");
    std::fs::remove_file(&out).unwrap();
    std::fs::rename(&moved, &out).unwrap();
    scene.read(&session, "/docs/secret.txt").value();
}
