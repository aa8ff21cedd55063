//! The tools on a bench, on real files.

use serde_json::{Value, json};
use zipfs_fs::Files;
use zipfs_sdk::testing::Bench;
use zipfs_sdk::{Class, Content};

fn bench() -> Bench {
    let bench = Bench::of::<Files>();
    bench.put("my/data/document.txt", "This is the content.");
    bench.put("my/data/b.bin", [0, 0xff]);
    bench.put("my/data/reports/q1", "x");
    bench.put("my/data/a.txt", "");
    bench
}

fn text(bench: &Bench, arguments: Value) -> String {
    let called = bench.call("fs.readFile", arguments);
    let [Content::Text(text)] = called.outcome().content() else { panic!("one text") };
    assert_eq!(called.outcome().structured_json(), None);
    text.clone()
}

fn fails(bench: &Bench, tool: &str, arguments: Value) -> (Class, String, String) {
    let called = bench.call(tool, arguments);
    let error = called.error();
    (error.class(), error.code().to_owned(), error.message().to_owned())
}

#[test]
fn a_directory_is_listed_in_the_style_in_which_it_was_named() {
    let bench = bench();
    let listed = bench.call("fs.listDirectory", json!({"path": "/my/data"})).json();
    let names = |of: &Value| of.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&listed["files"]), ["a.txt", "b.bin", "document.txt"]);
    assert_eq!(listed["directories"], json!([{"name": "reports", "path": "/my/data/reports"}]));
    let document = &listed["files"][2];
    assert_eq!((document["path"].as_str(), document["size"].as_u64()), (Some("/my/data/document.txt"), Some(20)));
    let bare = bench.call("fs.listDirectory", json!({"path": "my//x/../data/"})).json();
    assert_eq!(bare["files"][0]["path"], "my/data/a.txt");
    for (root, path) in [(json!({}), "my"), (json!({"path": "."}), "my"), (json!({"path": "/"}), "/my")] {
        assert_eq!(
            bench.call("fs.listDirectory", root).json(),
            json!({"files": [], "directories": [{"name": "my", "path": path}]})
        );
    }
}

#[test]
fn times_are_utc() {
    let bench = bench();
    let file = std::fs::File::options().write(true).open(bench.host_path().join("my/data/a.txt")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_758_364_200)).unwrap();
    let listed = bench.call("fs.listDirectory", json!({"path": "/my/data"})).json();
    assert_eq!(listed["files"][0]["modified_date"], "2025-09-20T10:30:00Z");
}

#[test]
fn a_file_is_one_bare_string() {
    let bench = bench();
    assert_eq!(text(&bench, json!({"path": "/my/data/document.txt"})), "This is the content.");
    assert_eq!(text(&bench, json!({"path": "my/data/b.bin"})), "AP8=");
    assert_eq!(text(&bench, json!({"path": "my/data/a.txt", "meta": false})), "");
    let meta = bench.call("fs.readFile", json!({"path": "my/data/b.bin", "meta": true}));
    assert_eq!(meta.json(), json!({"content": "AP8=", "encoding": "base64"}));
    assert!(meta.outcome().content().is_empty());
}

#[test]
fn errors_have_the_names_and_classes_of_the_documentation() {
    let bench = bench();
    for path in ["/nothing", "my/nothing/x", "my/data/a.txt/below"] {
        for tool in ["fs.listDirectory", "fs.readFile"] {
            let called = bench.call(tool, json!({"path": path}));
            let error = called.error();
            assert_eq!((error.class(), error.code()), (Class::NotFound, "FileNotFoundError"), "{tool} {path}");
            assert_eq!(error.more(), Some(&json!({"path": path})));
        }
    }
    assert_eq!(
        fails(&bench, "fs.listDirectory", json!({"path": "my/data/a.txt"})).1,
        "FileNotFoundError",
        "a file is no directory"
    );
    assert_eq!(fails(&bench, "fs.readFile", json!({"path": "my"})).1, "FileNotFoundError", "a directory is no file");
    for path in ["/../etc/passwd", "../x", "my/../../x", "C:\\x"] {
        for tool in ["fs.listDirectory", "fs.readFile"] {
            let (class, code, message) = fails(&bench, tool, json!({"path": path}));
            assert_eq!((class, code.as_str()), (Class::Invalid, "ValueError"), "{tool} {path}");
            assert!(message.contains("outside of the root"), "{message}");
        }
    }
    assert_eq!(fails(&bench, "fs.readFile", json!({})).1, "ValueError");
}

#[test]
fn links_are_followed_inside_and_refused_outside() {
    let bench = bench();
    let root = bench.host_path();
    // Beside the root, with its name at the beginning: containment is by components, not by letters.
    let beside = root.with_file_name("workspace2");
    std::fs::create_dir(&beside).unwrap();
    std::fs::write(beside.join("secret"), "x").unwrap();
    for (to, name) in [("my/data/a.txt", "in"), ("my", "dir"), ("../workspace2/secret", "out"), ("nowhere", "broken")] {
        std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    }
    let listed = bench.call("fs.listDirectory", json!({})).json();
    let names = |of: &Value| of.as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!((names(&listed["files"]), names(&listed["directories"])), (vec![json!("in")], vec![json!("dir"), json!("my")]));
    assert_eq!(text(&bench, json!({"path": "/in"})), "");
    std::os::unix::fs::symlink("../my/data/a.txt", root.join("my/up")).unwrap();
    assert_eq!(names(&bench.call("fs.listDirectory", json!({"path": "my"})).json()["files"]), [json!("up")]);
    assert_eq!(fails(&bench, "fs.readFile", json!({"path": "out"})).1, "ValueError");
    assert_eq!(fails(&bench, "fs.readFile", json!({"path": "/../workspace2/secret"})).1, "ValueError");
    assert_eq!(fails(&bench, "fs.readFile", json!({"path": "broken"})).1, "FileNotFoundError");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let bench = bench();
    let file = std::fs::File::create(bench.host_path().join("large")).unwrap();
    file.set_len((10 << 20) + 1).unwrap();
    let (class, code, message) = fails(&bench, "fs.readFile", json!({"path": "large"}));
    assert_eq!((class, code.as_str()), (Class::Invalid, "ValueError"));
    assert!(message.contains("10485761 bytes, more than the limit of 10485760"), "{message}");
    file.set_len(10 << 20).unwrap();
    assert_eq!(text(&bench, json!({"path": "large"})).len(), 10 << 20);
}

#[test]
fn a_directory_is_listed_up_to_a_limit() {
    let bench = bench();
    let many = bench.host_path().join("many");
    std::fs::create_dir(&many).unwrap();
    for index in 0..20_001 {
        std::fs::File::create(many.join(index.to_string())).unwrap();
    }
    let (class, code, _) = fails(&bench, "fs.listDirectory", json!({"path": "many"}));
    assert_eq!((class, code.as_str()), (Class::Invalid, "ValueError"));
    std::fs::remove_file(many.join("0")).unwrap();
    assert_eq!(bench.call("fs.listDirectory", json!({"path": "many"})).json()["files"].as_array().unwrap().len(), 20_000);
}
