//! Symbolic links of an archive: left in it unless the user allows them, and never a way out.

use std::io::{Cursor, Write};

use serde_json::json;
use zip::write::SimpleFileOptions;

use crate::support::{Archive, Server};

/// An archive of files and links.
fn archive(files: &[(&str, &str)], links: &[(&str, &str)]) -> Archive {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o644);
    for (name, contents) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(contents.as_bytes()).unwrap();
    }
    for (name, target) in links {
        writer.add_symlink(*name, *target, options).unwrap();
    }
    Archive::new("links.zip", &writer.finish().unwrap().into_inner())
}

fn allowing() -> Server {
    Server::with(json!({"security": {"allow_symlinks": true}}))
}

/// Name and target of every link that an archive holds, by a library that is not ours.
fn links_in(archive: &Archive) -> Vec<(String, String)> {
    let mut read = zip::ZipArchive::new(std::fs::File::open(archive.path()).unwrap()).unwrap();
    let mut links = Vec::new();
    for index in 0..read.len() {
        let mut entry = read.by_index(index).unwrap();
        if entry.is_symlink() {
            let mut target = String::new();
            std::io::Read::read_to_string(&mut entry, &mut target).unwrap();
            links.push((entry.name().unwrap().into_owned(), target));
        }
    }
    links
}

#[test]
fn by_default_links_are_listed_and_stay_in_the_archive() {
    let server = Server::start();
    let archive = archive(&[("a.txt", "hello")], &[("to-a", "a.txt"), ("out", "/etc/passwd")]);
    let opened = server.call("zipfs_open", json!({"path": archive.path()})).value();
    assert_eq!(opened["skipped_symlinks"], json!(["to-a", "out"]));
    assert!(opened["warnings"][0].as_str().unwrap().contains("2 symbolic links"), "{opened}");
    server.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    server.call("zipfs_sync", json!({})).value();
    assert_eq!(links_in(&archive), [("to-a".into(), "a.txt".into()), ("out".into(), "/etc/passwd".into())]);
}

#[test]
fn allowed_links_are_links_and_come_back_as_links() {
    let server = allowing();
    let archive = archive(
        &[("docs/a.txt", "hello"), ("other.txt", "other")],
        &[("current", "docs/a.txt"), ("docs/up", "../other.txt"), ("dir", "docs"), ("dangling", "nothing/here")],
    );
    let opened = server.call("zipfs_open", json!({"path": archive.path()})).value();
    assert_eq!((&opened["skipped_symlinks"], &opened["warnings"], &opened["file_count"]), (&json!([]), &json!([]), &json!(2)));
    let contents = std::path::PathBuf::from(opened["workspace_path"].as_str().unwrap());
    assert_eq!(std::fs::read_link(contents.join("docs/up")).unwrap().to_str(), Some("../other.txt"));
    assert_eq!(server.call("zipfs_read", json!({"path": "current"})).value()["content"], "hello");
    assert_eq!(server.call("zipfs_read", json!({"path": "dir/up"})).value()["content"], "other");
    server.call("zipfs_read", json!({"path": "dangling"})).fails("PATH_NOT_FOUND");
    let tree = server.call("zipfs_tree", json!({})).value();
    assert!(tree["tree"].as_str().unwrap().contains("├── current -> docs/a.txt\n"), "{tree}");
    let clean = json!({"modified": [], "added": [], "deleted": [], "unchanged_count": 2});
    assert_eq!(server.call("zipfs_status", json!({})).value(), clean);
    let before = std::fs::read(archive.path()).unwrap();
    server.call("zipfs_sync", json!({})).value();
    assert_eq!(std::fs::read(archive.path()).unwrap(), before, "nothing changed, so nothing is written");

    // One goes, one leads elsewhere, one is new; and one is made by a program outside that leads out.
    server.call("zipfs_delete", json!({"path": "dir"})).value();
    std::fs::remove_file(contents.join("current")).unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, contents.join(name)).unwrap();
    link("docs/b.txt", "current");
    link("../docs/a.txt", "docs/new");
    link("../../../etc/passwd", "docs/evil");
    let status = server.call("zipfs_status", json!({})).value();
    assert_eq!(status, json!({"modified": ["current"], "added": ["docs/new"], "deleted": ["dir"], "unchanged_count": 2}));
    server.call("zipfs_sync", json!({})).value();
    let expected =
        [("current", "docs/b.txt"), ("dangling", "nothing/here"), ("docs/new", "../docs/a.txt"), ("docs/up", "../other.txt")];
    let mut links = links_in(&archive);
    links.sort();
    assert_eq!(links, expected.map(|(name, target)| (name.to_owned(), target.to_owned())));
    assert_eq!(server.call("zipfs_status", json!({})).value(), clean);
}

#[test]
fn a_link_that_leads_out_is_refused_with_everything() {
    let server = allowing();
    let out = [
        vec![("l", "/etc/passwd")],
        vec![("l", "../x")],
        vec![("d/l", "../../x")],
        vec![("a", "b"), ("b/l", "../../x")],
        // Each of the two looks harmless: together they would lead out.
        vec![("p/here", "."), ("p/l", "here/../../x")],
        vec![("l", "missing/../../x")],
        vec![("l", "a\nb")],
    ];
    for links in out {
        let archive = archive(&[("ok.txt", "1")], &links);
        let (code, _) = server.call("zipfs_open", json!({"path": archive.path()})).failure();
        assert!(code == "PATH_TRAVERSAL" || code == "ZIP_INVALID", "{links:?}: {code}");
    }
    let entries: Vec<_> =
        std::fs::read_dir(server.data().join("workspaces")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        entries.iter().all(|name| name.to_string_lossy().starts_with('.') && !name.to_string_lossy().contains("opening")),
        "{entries:?}"
    );
}

#[test]
fn nothing_is_written_through_a_link() {
    let server = allowing();
    // The file would come to lie where the link leads.
    let archive = archive(&[("d/x.txt", "1")], &[("d", "..")]);
    server.call("zipfs_open", json!({"path": archive.path()})).fails("ZIP_INVALID");
    let archive = self::archive(&[("a.txt", "old")], &[("l", "a.txt")]);
    server.call("zipfs_open", json!({"path": archive.path()})).value();
    server.call("zipfs_write", json!({"path": "l", "content": "new"})).value();
    assert_eq!(server.call("zipfs_read", json!({"path": "a.txt"})).value()["content"], "old");
    server.call("zipfs_sync", json!({})).value();
    assert_eq!(archive.read(), [("a.txt".to_owned(), b"old".to_vec()), ("l".to_owned(), b"new".to_vec())].into());
    assert!(links_in(&archive).is_empty());
}
