//! Archives that come over the network and go back the same way.

use std::io::Cursor;

use serde_json::json;

use crate::support::{Archive, Service, zip};

#[test]
fn an_archive_is_brought_changed_and_taken() {
    let (service, [ada, eve]) = Service::with(json!({}), [("ada", &[]), ("eve", &[])]);
    let (ada, eve) = (service.agent(&ada), service.agent(&eve));
    let brought = ada.upload("?name=report&file=report.docx", &zip(&[("a.txt", "one"), ("b.txt", "two")]));
    assert_eq!(brought.status, 201, "{brought:?}");
    let opened = brought.json();
    let id = opened["session_id"].as_str().unwrap();
    assert_eq!((opened["name"].clone(), opened["file_count"].clone()), (json!("report"), json!(2)));
    let listed = ada.call("zipfs_sessions", json!({})).value();
    assert_eq!(listed["sessions"][0]["source_path"], "report.docx");
    assert!(!listed.to_string().contains(service.data().to_str().unwrap()));
    ada.call("zipfs_write", json!({"path": "a.txt", "content": "changed"})).value();
    let entries = |bytes: &[u8]| {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes.to_vec())).expect("an archive");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut archive.by_name("a.txt").expect("a.txt"), &mut text).expect("text");
        text
    };
    let before = ada.download(id);
    assert_eq!((before.status, entries(&before.body)), (200, "one".into()), "as it was last synced");
    ada.call("zipfs_sync", json!({})).value();
    let after = ada.download("report");
    assert_eq!(entries(&after.body), "changed");
    assert!(after.header("content-disposition").unwrap().contains("report.docx"));
    assert_eq!(after.header("content-length").unwrap(), after.body.len().to_string());
    assert_eq!(eve.download(id).status, 404);
    assert_eq!(service.agent("").download(id).status, 401);
    ada.call("zipfs_close", json!({})).value();
    assert_eq!(ada.download(id).status, 404);
    let left: Vec<_> =
        std::fs::read_dir(service.data().join("workspaces")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(
        left.iter().all(|name| name.to_string_lossy().starts_with(".usage") || name.to_string_lossy().starts_with('.')),
        "{left:?}"
    );
}

#[test]
fn what_is_too_large_or_no_archive_leaves_nothing() {
    let (service, [token]) = Service::with(json!({"http": {"upload_bytes": 100_000}}), [("ada", &[])]);
    let ada = service.agent(&token);
    assert_eq!(ada.upload("", &vec![7; 100_001]).status, 413);
    let refused = ada.upload("", b"this is no archive");
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (400, json!("ZIP_INVALID")), "{refused:?}");
    assert!(!refused.text().contains(service.data().to_str().unwrap()), "{refused:?}");
    for file in ["../x.zip", ".x.zip", "a/b.zip", "a%2fb.zip", ""] {
        assert_eq!(ada.upload(&format!("?file={file}"), &zip(&[("a", "a")])).status, 400, "{file}");
    }
    assert_eq!(ada.upload("?name=../x", &zip(&[("a", "a")])).status, 400);
    assert_eq!(ada.call("zipfs_sessions", json!({})).value()["sessions"], json!([]));
    for hostile in ["?file=a.zip", ""] {
        let bytes = Archive::of(&[("../evil", "x")]);
        assert!(ada.upload(hostile, &std::fs::read(bytes.path()).unwrap()).status >= 400);
    }
    let left = std::fs::read_dir(service.data().join("workspaces")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| !name.to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}
