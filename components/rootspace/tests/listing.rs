//! The resource `list://{path}` on a bench. Tests are named by the requirements.

use serde_json::{Value, json};
use zipfs_rootspace::Rootspace;
use zipfs_sdk::testing::Bench;
use zipfs_sdk::{Class, ResourceBody};

fn bench() -> Bench {
    let bench = Bench::of::<Rootspace>();
    for path in
        ["notes/b.md", "notes/a.md", "notes/.hidden", "notes/sub/deep.md", "notes/.git/config", "work/x", "top", "odd/50%/ü"]
    {
        bench.put(path, "x");
    }
    std::fs::create_dir(bench.host_path().join("empty")).unwrap();
    bench
}

fn list(bench: &Bench, uri: &str) -> Value {
    let contents = bench.read::<Rootspace>(uri).unwrap();
    let [only] = &contents[..] else { panic!("one item") };
    assert_eq!((only.uri.as_str(), only.mime_type.as_deref()), (uri, Some("application/json")));
    let ResourceBody::Text(text) = &only.body else { panic!("text") };
    serde_json::from_str(text).unwrap()
}

fn names(bench: &Bench, uri: &str) -> Vec<String> {
    let listed = list(bench, uri);
    listed["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn code(bench: &Bench, uri: &str) -> (Class, String) {
    let error = bench.read::<Rootspace>(uri).unwrap_err();
    (error.class(), error.code().to_owned())
}

#[test]
fn mcp_020_immediate_children_directories_first() {
    let bench = bench();
    let expected = json!({"path": "/notes", "entries": [
        {"type": "directory", "name": ".git"}, {"type": "directory", "name": "sub"},
        {"type": "file", "name": ".hidden"}, {"type": "file", "name": "a.md"}, {"type": "file", "name": "b.md"},
    ]});
    for uri in ["list://notes", "list://notes/", "list:///notes/", "list://notes%2F", "list://%6eotes"] {
        assert_eq!(list(&bench, uri), expected, "{uri}");
    }
    for root in ["list://", "list:///", "list://."] {
        assert_eq!(list(&bench, root)["path"], "/");
        assert_eq!(names(&bench, root), ["empty", "notes", "odd", "work", "top"]);
    }
    assert_eq!(list(&bench, "list://empty"), json!({"path": "/empty", "entries": []}));
    assert_eq!(names(&bench, "list://odd%2F50%25"), ["ü"]);
    assert_eq!(code(&bench, "list://top"), (Class::Invalid, "NOT_A_DIRECTORY".into()));
}

#[test]
fn mcp_021_dotfiles_are_listed() {
    let bench = bench();
    assert!(names(&bench, "list://notes").contains(&".hidden".into()));
}

#[test]
fn mcp_026_paths_are_normalised_before_they_are_listed() {
    let bench = bench();
    for uri in ["list://notes/../work/", "list://notes/%2e%2e/work", "list:////work//.", "list://notes%2F..%2Fwork"] {
        assert_eq!(list(&bench, uri)["path"], "/work", "{uri}");
    }
}

#[test]
fn mcp_027_what_leads_out_is_refused() {
    let bench = bench();
    for uri in ["list://../", "list:///..", "list://%2e%2e/", "list://notes/../../etc", "list://C:%5CUsers", "list://a%00"] {
        assert_eq!(code(&bench, uri), (Class::Forbidden, "PATH_TRAVERSAL".into()), "{uri}");
    }
}

#[test]
fn mcp_050_what_is_not_there_is_not_found() {
    let bench = bench();
    assert_eq!(code(&bench, "list://nothing"), (Class::NotFound, "FILE_NOT_FOUND".into()));
    assert_eq!(code(&bench, "list://top/below"), (Class::NotFound, "FILE_NOT_FOUND".into()));
    assert_eq!(code(&bench, "other://notes"), (Class::NotFound, "RESOURCE_NOT_FOUND".into()));
    assert_eq!(code(&bench, "list://%ff"), (Class::Invalid, "INVALID_PARAMS".into()));
}

#[test]
fn auth_042_links_show_what_they_lead_to_and_do_not_lead_out() {
    let bench = bench();
    for (to, name) in [("../notes", "in"), ("/etc", "out"), ("nowhere", "broken"), ("../top", "file")] {
        std::os::unix::fs::symlink(to, bench.host_path().join("empty").join(name)).unwrap();
    }
    let expected = json!([{"type": "directory", "name": "in"}, {"type": "file", "name": "file"},
                          {"type": "link", "name": "broken"}, {"type": "link", "name": "out"}]);
    assert_eq!(list(&bench, "list://empty")["entries"], expected);
    assert_eq!(names(&bench, "list://empty/in").len(), 5);
    assert_eq!(code(&bench, "list://empty/out").0, Class::Forbidden);
}

#[test]
fn a_directory_is_listed_up_to_a_limit() {
    let bench = bench();
    for index in 0..20_001 {
        std::fs::File::create(bench.host_path().join("empty").join(index.to_string())).unwrap();
    }
    assert_eq!(code(&bench, "list://empty"), (Class::Limit, "TOO_LARGE".into()));
    std::fs::remove_file(bench.host_path().join("empty/0")).unwrap();
    assert_eq!(names(&bench, "list://empty").len(), 20_000);
}
