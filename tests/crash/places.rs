//! Odd places: full, read-only and foreign filesystems, and sources that are not what they were.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::scene::{Act, Scene, edit};
use crate::support::{Archive, Server};

/// A filesystem in memory, gone with the value. `None`, loudly, where it cannot be had.
pub struct Mounted(tempfile::TempDir);

impl Mounted {
    pub fn tmpfs(options: &str) -> Option<Mounted> {
        let point = tempfile::tempdir().expect("a directory");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(point.path()).output();
        match mount {
            Ok(output) if output.status.success() => Some(Mounted(point)),
            _ => {
                crate::support::skipped("no filesystem can be mounted; this needs root");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(self.path()).status();
        assert!(status.expect("mount runs").success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

#[test]
fn a_full_source_directory() {
    let Some(small) = Mounted::tmpfs("size=1m") else { return };
    let scene = Scene::at(small.path(), &std::env::temp_dir(), Act::Sync, json!({}));
    let filler = small.path().join("filler");
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    let answer = scene.perform().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "SYNC_FAILED", "{answer}");
    std::fs::remove_file(filler).unwrap();
    scene.check("sync into a full directory");
}

#[test]
fn a_source_directory_without_inodes() {
    let Some(small) = Mounted::tmpfs("size=4m,nr_inodes=8") else { return };
    let scene = Scene::at(small.path(), &std::env::temp_dir(), Act::Sync, json!({}));
    let fillers: Vec<_> =
        (0..20).map(|n| small.path().join(format!("f{n}"))).take_while(|path| std::fs::write(path, "").is_ok()).collect();
    let answer = scene.perform().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "SYNC_FAILED", "{answer}");
    for filler in fillers {
        std::fs::remove_file(filler).unwrap();
    }
    scene.check("sync into a directory without inodes");
}

#[test]
fn a_full_data_directory() {
    let Some(small) = Mounted::tmpfs("size=1m") else { return };
    let server = Server::within(small.path(), json!({}));
    let large: String = (0..400_000u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26)).collect();
    let archive = Archive::of(&[("large", &large), ("larger", &format!("{large}{large}{large}"))]);
    let (code, _) = server.call("zipfs_open", json!({"path": archive.path()})).failure();
    assert_eq!(code, "LIMIT_EXCEEDED");
    drop(server);
    // What is left is room enough for one that fits, and for all that can be done with it.
    let scene = Scene::at(&std::env::temp_dir(), small.path(), Act::Sync, json!({}));
    let filler = small.path().join("filler");
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    assert_eq!(scene.perform().unwrap()["result"]["isError"], true);
    std::fs::remove_file(filler).unwrap();
    scene.check("sync with a full data directory");
}

#[test]
fn a_data_directory_without_inodes() {
    let Some(small) = Mounted::tmpfs("size=4m,nr_inodes=40") else { return };
    let server = Server::within(small.path(), json!({}));
    let many: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "x")).collect();
    let many = Archive::of(&many);
    let (code, _) = server.call("zipfs_open", json!({"path": many.path()})).failure();
    assert_eq!(code, "LIMIT_EXCEEDED");
    server.open(&Archive::of(&[("a", "1")])).call("zipfs_ls", json!({})).value();
}

#[test]
fn a_source_directory_that_became_read_only() {
    let Some(place) = Mounted::tmpfs("size=1m") else { return };
    let scene = Scene::at(place.path(), &std::env::temp_dir(), Act::Sync, json!({}));
    place.remount("ro");
    let answer = scene.perform().unwrap();
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "SYNC_FAILED", "{answer}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("sample.zip") && message.contains("directory cannot be written"), "{message}");
    place.remount("rw");
    scene.check("sync into a read-only directory");
}

/// Data and source on different filesystems: nothing may be renamed or linked across.
#[test]
fn a_source_on_another_filesystem() {
    let Some(place) = Mounted::tmpfs("size=4m") else { return };
    let scene = Scene::at(place.path(), &std::env::temp_dir(), Act::Sync, json!({}));
    assert_ne!(scene.perform().unwrap()["result"]["isError"], true);
    scene.check("sync across filesystems");
}

#[test]
fn a_source_that_is_not_what_it_was() {
    let server = Server::start();
    let archive = Archive::of(&[("a.txt", "one"), ("b.txt", "two")]);
    let session = server.open(&archive);
    edit(&server);
    let (path, aside) = (archive.path(), archive.dir().join("aside"));
    let refused = |code: &str, word: &str| {
        let message = session.call("zipfs_sync", json!({})).fails(code);
        assert!(message.contains(word), "{message}");
    };
    std::fs::rename(path, &aside).unwrap();
    refused("ZIP_NOT_FOUND", "does not exist");
    std::os::unix::fs::symlink(&aside, path).unwrap();
    refused("ZIP_NOT_FOUND", "symbolic link");
    std::fs::remove_file(path).unwrap();
    std::fs::create_dir(path).unwrap();
    refused("ZIP_NOT_FOUND", "directory");
    std::fs::remove_dir(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    refused("ZIP_NOT_FOUND", "not a regular file");
    std::fs::remove_file(path).unwrap();
    std::fs::rename(&aside, path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
    refused("SYNC_FAILED", "read-only");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    session.call("zipfs_sync", json!({})).value();
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o640);
    super::scene::check_names(archive.dir(), &["sample.bak.zip", "sample.zip"], "after all of it");
}
